"""An experiment looked at before it is run: its data, its traps, its costs, its prospects."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fedkin.core.counts import at_least
from fedkin.core.method import Method
from fedkin.core.model import Model
from fedkin.core.system.user_code import is_user_code
from fedkin.data.population import Population
from fedkin.doctor.candidates import candidates, left_out, split_name
from fedkin.doctor.data import data_of
from fedkin.doctor.probe import probe
from fedkin.doctor.risky_methods import risky_methods
from fedkin.doctor.seldom_worse import takes, takes_safe
from fedkin.doctor.traps import traps_of
from fedkin.doctor.verdict import examined, verdict
from fedkin.experiment.run_facts import privacy_of
from fedkin.methods import known_name, taken
from fedkin.methods.user_methods import allow
from fedkin.runs.spec import MethodSection, PublicSection, Spec
from fedkin.runtime.progress import tracked
from fedkin.setup.arguments.given import check_method
from fedkin.setup.build import Assembled, assemble
from fedkin.setup.population import shared_reading

ExtraMethods = Sequence[str | Method] | str | Method | None  # methods beside those of the doctor


def diagnosis(
    spec: Spec,
    rounds: int,
    methods: ExtraMethods = (),
    named: bool = True,
    method_value: Method | None = None,
) -> dict[str, Any]:
    """What ``fedkin doctor --json`` prints.

    Args:
        spec: The experiment.
        rounds: How many rounds a probe of costs has; 0: none is run.
        methods: more methods to probe, each as ``--method`` takes it: "ditto" has its defaults,
            "ditto:lam=2" has its own λ; a text is one. A Method value goes by its name, with a
            number behind it where another one has that name.
        named: whether somebody chose the experiment's method, so that it is probed too.
        method_value: a Method value in place of [method].

    Returns:
        Plain values: "data", "traps", "verdict", "candidates", "left_out", "may_lose", "safe",
        "probes", "rounds", "of", "privacy".

    Raises:
        FedkinError: what is wrong with the experiment, the rounds, a method's name or its keys.
    """
    at_least(0, rounds=rounds)
    # a Method is a tuple, too
    listed = [methods] if isinstance(methods, str | Method) else methods or ()
    more = [_known(one) for one in listed]
    with shared_reading():
        parts = assemble(spec, method_value)
        traps = traps_of(parts)
    everyone = _with_all_rows(spec, parts)
    examination = examined(everyone, _measure(parts.spec), parts.spec.run.seed)
    layers = min((layers_of(model) for model in parts.models.values()), default=0)
    runs = partial(_takes, parts)
    judged = None if examination is None else verdict(examination)
    first: list[dict[str, Any]] = []
    if examination is not None and judged is not None:
        first = candidates(examination, everyone.names, judged["federate"], layers, runs)
    wanted = {spec.method.name: (spec.method, method_value)} if named else {}
    for one in (*(one["method"] for one in first), *more):
        _want(wanted, one)
    lasting = min(rounds, spec.run.rounds)
    asked = list(wanted.items()) if rounds else []
    probes = [
        probe(spec, text, section, lasting, value)
        for text, (section, value) in tracked("probing methods", asked)
    ]
    return {
        "data": data_of(everyone, parts.spec.run.seed),
        "traps": traps,
        "verdict": judged,
        "candidates": first,
        "left_out": [] if examination is None else left_out(examination, layers, runs),
        "may_lose": None if judged is None else risky_methods(judged["federate"], first)._asdict(),
        "safe": [one["method"] for one in first if takes_safe(parts, one["method"])],
        "probes": [one._asdict() for one in probes],
        "rounds": int(rounds),
        "of": spec.run.rounds,
        "privacy": privacy_of(parts),
    }


def _known(one: str | Method) -> str | Method:
    """The same with the method's own name. Raises FedkinError for a name or a key that is none, and
    for what is no Method.
    """
    if not isinstance(one, str):
        check_method(one)
        return one
    text = one
    name, options = split_name(text)
    allow([name] if is_user_code(name) else [])  # somebody typed it
    taken(name, [key for key in options if key not in MethodSection.model_fields])
    return text if is_user_code(name) else known_name(name) + text[len(name) :]


def _want(wanted: dict[str, tuple[MethodSection, Method | None]], one: str | Method) -> None:
    """Add a method to those that are probed, by the name that they are shown with."""
    if isinstance(one, str):
        name, options = split_name(one)
        section = MethodSection.model_validate({"name": name, **options})
        wanted.setdefault(one, (section, None))
        return
    names = (one.name, *(f"{one.name} {number}" for number in range(2, len(wanted) + 2)))
    free = next(name for name in names if name not in wanted)
    wanted[free] = (MethodSection(name=one.name), one)


def _measure(spec: Spec) -> str:
    """The experiment's; where numbers have another family's deviance, RMSE. The doctor's models
    predict means below zero, of which a Poisson deviance is not defined.
    """
    plain = spec.model.family in ("auto", "gaussian")
    return spec.run.measure if plain or spec.run.measure != "deviance" else "rmse"


def _takes(parts: Assembled, candidate: str) -> bool:
    """Whether the experiment runs with another method: its [privacy] or transforms may not."""
    return not (parts.spec.privacy.on or parts.spec.transforms) or takes(parts, candidate)


def layers_of(model: Model) -> int:
    """How many layers with parameters a model has.

    Args:
        model: The architecture.

    Returns:
        At least 1 where it has parameters.
    """
    return len({name.rpartition(".")[0] for name in model.initial})


def _with_all_rows(spec: Spec, parts: Assembled) -> Population:
    """The clients' data without a public set taken from them, as ``local`` has them."""
    if parts.population.public is None:
        return parts.population
    alone = {"method": MethodSection(name="local"), "public": PublicSection()}
    return assemble(spec.model_copy(update=alone)).population
