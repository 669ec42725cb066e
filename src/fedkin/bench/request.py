"""What a person asks of a bench: checked before anything is run, and taken apart into cases."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from fedkin.bench.case import Case, case_of
from fedkin.bench.row import LETTERS, VALUES, letters
from fedkin.bench.search import content_of, untried
from fedkin.bench.suite import BASELINES, Content, Suite
from fedkin.core.errors import FedkinError, many, some, unknown
from fedkin.core.system.user_code import is_user_code
from fedkin.methods import known_name
from fedkin.methods.user_methods import allow
from fedkin.runs.spec import parse
from fedkin.setup.build import method_of
from fedkin.setup.population import population_of
from fedkin.setup.user_code import code_of, permit
from fedkin.sweep.space import NO_VALIDATION

Tell = Callable[[str], None]


class BenchRequest(NamedTuple):
    """What is to be run. ``methods``, ``settings``: empty for all of the suite's.
    ``typed_trials``: values that a person typed, for a method of somebody's module to try.
    """

    name: str
    suite: Suite
    out: Path
    workers: int
    data_dir: str | None = None
    methods: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    typed_trials: tuple[Content, ...] = ()
    keep_runs: bool = False
    trusted: bool = False  # the suite's file may name code


def check_request(request: BenchRequest) -> None:
    """Refuse a request for what does not exist, and code that nobody trusts.

    Args:
        request: The suite, and its part that is wanted.

    Raises:
        FedkinError: A method, a setting or a value does not exist, or the suite's file names code
            that is not trusted.
    """
    _check_lengths(request)
    allow(name for name in request.methods if is_user_code(name))
    _permit(request)
    _methods(request)
    _settings(request)
    _check_written_trials(request)


def cases_of(request: BenchRequest, tell: Tell) -> list[Case]:
    """Every method on every setting whose data are here.

    Args:
        request: A checked one.
        tell: Takes a sentence for each setting and each value that is left out.

    Returns:
        The cases, method by method.

    Raises:
        FedkinError: No setting can be run.
    """
    data_digests = _data_digests(request, tell)
    cases = [
        case_of(request.name, request.suite, label, method, digest, _typed_trials(request, method))
        for method in _methods(request)
        for label, digest in data_digests.items()
    ]
    _tell_untried(request, cases, tell)
    return cases


def _check_lengths(request: BenchRequest) -> None:
    """A row can hold what it was asked for: this is known before anything is run."""
    for name in (*request.methods, *request.suite.methods):
        if len(name) > LETTERS:
            raise FedkinError(
                f"method {name[:40]}… has a name of {len(name):,} letters: a row of the "
                f"leaderboard holds {LETTERS} (import it under a shorter name)"
            )
    searched = [own for one in request.suite.searches.values() for own in (*one.own, one.fixed)]
    for values in (*request.typed_trials, *searched):
        if (length := letters(values)) > VALUES:
            raise FedkinError(
                f"a trial of {length:,} letters: a row of the leaderboard holds {VALUES:,}"
            )


def _permit(request: BenchRequest) -> None:
    """Code that the suite's file names is imported only where a person trusts the file."""
    specs = [parse(one.spec)[0] for one in request.suite.settings.values()]
    models = [name for spec in specs for name in code_of(spec)]
    code = [*filter(is_user_code, request.suite.methods), *models]
    if code and not request.trusted:
        raise FedkinError(
            f"{request.name} names code ({some(code, 3)}) that would run with your rights: if you "
            "trust where it comes from, say --trust-code"
        )
    allow(filter(is_user_code, request.suite.methods))
    for spec in specs:
        permit(spec)


def _methods(request: BenchRequest) -> tuple[str, ...]:
    named = _named(request)
    return tuple(dict.fromkeys((*BASELINES, *named))) if named else request.suite.all_methods


def _named(request: BenchRequest) -> tuple[str, ...]:
    """The methods that were asked for, by their own names: "Fed-Prox" may be typed."""
    return tuple(known_name(name) for name in request.methods)


def _settings(request: BenchRequest) -> list[str]:
    for label in request.settings:
        if label not in request.suite.settings:
            raise unknown("setting", label, request.suite.settings)
    return list(request.settings or request.suite.settings)


def _typed_trials(request: BenchRequest, method: str) -> list[Content] | None:
    typed = method in _named(request) and request.typed_trials
    return list(request.typed_trials) if typed else None


def _written_trials(request: BenchRequest) -> dict[str, list[Content]]:
    """By method, what a person wrote to be tried: in the suite's file, or typed, which wins."""
    asked = _methods(request)
    written = {
        method: [{**search.fixed, **own} for own in search.own or ({},)]
        for method, search in request.suite.searches.items()
        if method in asked
    }
    if request.typed_trials:
        written |= {method: list(request.typed_trials) for method in _named(request)}
    return written


def _check_written_trials(request: BenchRequest) -> None:
    """They are values of hyper-parameters that the method has, before it waits for the
    baselines.
    """
    for method, trials in _written_trials(request).items():
        for label, values in product(_settings(request), trials):
            spec = request.suite.settings[label].spec
            trial = content_of(spec, method, request.suite.rates[0], values)
            method_of(parse(trial, where=label)[0])


def _tell_untried(request: BenchRequest, cases: Sequence[Case], tell: Tell) -> None:
    """Values that a person wrote are not left out without a word."""
    for method in _written_trials(request):
        case = next(case for case in cases if case.method == method)
        left_out = untried(request.suite.rates, case.own, request.suite.trials)
        if left_out:
            shown = [", ".join(f"{k}={v}" for k, v in values.items()) for values in left_out]
            trials = many(request.suite.trials, "trial")
            tell(f"{method}: {some(shown, 3)} is not tried, for the suite has {trials} a method")


def _data_digests(request: BenchRequest, tell: Tell) -> dict[str, str]:
    """The digest of each setting's data; a setting whose data are not here is left out, and one
    without validation samples, by which nobody could choose.
    """
    by_label: dict[str, str] = {}
    reasons = []
    for label in _settings(request):
        spec = request.suite.settings[label].spec
        data = {**spec["data"], **({} if request.data_dir is None else {"dir": request.data_dir})}
        first_run = {**spec.get("run", {}), "seed": request.suite.seeds[0]}
        try:
            spec_with_data = parse({**spec, "data": data, "run": first_run}, where=label)[0]
            population = population_of(spec_with_data, wanted=False)
            if not population.sizes("val").any():
                raise FedkinError(NO_VALIDATION)
            by_label[label] = population.digest()[:12]
        except FedkinError as error:
            reasons.append(f"{label} is left out: {error}")
            tell(reasons[-1])
    if not by_label:
        raise FedkinError(f"no setting can be run: {reasons[0]}")
    return by_label
