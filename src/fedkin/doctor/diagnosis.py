"""An experiment looked at before it is run: its data, its traps, its costs, its prospects."""

from collections.abc import Sequence
from typing import Any

from fedkin.data.population import Population
from fedkin.doctor.candidates import candidates
from fedkin.doctor.data import data_of
from fedkin.doctor.probe import probe
from fedkin.doctor.traps import traps_of
from fedkin.doctor.verdict import examined, verdict
from fedkin.methods import known_name
from fedkin.runs.spec import MethodSection, PublicSection, Spec
from fedkin.runtime.under_way import counted
from fedkin.setup.build import Assembled, assemble


def diagnosis(
    spec: Spec, rounds: int, methods: Sequence[str] = (), named: bool = True
) -> dict[str, Any]:
    """What ``fedkin doctor --json`` prints.

    Args:
        spec: the experiment.
        rounds: of a probe of costs; with 0 none is run.
        methods: more methods to probe, with their defaults.
        named: whether somebody chose the experiment's method, so that it is probed too.
    """
    more = [known_name(name) for name in methods]
    parts = assemble(spec)
    everyone = _with_all_rows(spec, parts)
    found = examined(everyone, parts.spec.run.measure, parts.spec.run.seed)
    first = [] if found is None else candidates(found, everyone.names)
    wanted = {spec.method.name: spec.method} if named else {}
    for name in (*(one["method"] for one in first), *more):
        wanted.setdefault(name, MethodSection(name=name))
    lasting = min(rounds, spec.run.rounds)
    asked = list(wanted.values()) if rounds else []
    probes = [probe(spec, one, lasting) for one in counted("probing methods", asked)]
    return {
        "data": data_of(everyone, parts.spec.run.seed),
        "traps": traps_of(parts),
        "verdict": None if found is None else verdict(found),
        "candidates": first,
        "probes": [one._asdict() for one in probes],
        "rounds": rounds,
        "of": spec.run.rounds,
    }


def _with_all_rows(given: Spec, parts: Assembled) -> Population:
    """The clients' data without a public set taken from them, as ``local`` has them."""
    if parts.population.public is None:
        return parts.population
    alone = {"method": MethodSection(name="local"), "public": PublicSection()}
    return assemble(given.model_copy(update=alone)).population
