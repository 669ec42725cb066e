"""A whole suite: cases in worker processes, rows appended as they come, and gone on with where it
was stopped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from filelock import FileLock, Timeout

from fedkin.bench.budgets import Allowance
from fedkin.bench.case import Case, case_of, outside_of, rows_of
from fedkin.bench.gain_over_local import with_gain_over_local
from fedkin.bench.machine import versions
from fedkin.bench.row import Row, append, half_written, in_one_line, read_rows, whole_cases
from fedkin.bench.search import content_of, untried
from fedkin.bench.suite import ALONE, BASELINES, SHARED, Content, Suite
from fedkin.core.errors import FedkinError, Halted, many, some, unknown
from fedkin.core.system.own_code import is_own
from fedkin.engine.transports.parent import end_with_parent
from fedkin.experiment.training import Interrupted
from fedkin.methods import known_name
from fedkin.methods.own import allow
from fedkin.runs.directory import check_home
from fedkin.runs.directory import own as inside
from fedkin.runs.spec import parse
from fedkin.setup.build import method_of
from fedkin.setup.own_code import code_of, permit
from fedkin.setup.population import population_of
from fedkin.sweep.space import NO_VALIDATION

ROWS, LOCK, RUNS = "rows.jsonl", ".lock", "runs"


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


Tell = Callable[[str], None]
Job = tuple[Case, Allowance | None]
# (setting, baseline) → the digest of its search in this session
BaselineDigests = Mapping[tuple[str, str], str]


def bench(request: BenchRequest, tell: Tell) -> list[Row]:
    """All rows of what is asked for, those of earlier sessions too. What is finished stays when it
    is stopped, and the same call goes on.

    Args:
        request: The suite, its part that is wanted, and where rows go.
        tell: Takes a sentence now and then.

    Returns:
        In the order in which they were written.

    Raises:
        FedkinError: A method, a setting or a value does not exist, before anything is run; or the
            folder cannot be written, or has a link where a bench has a file.
        Halted: The bench was stopped.
    """
    allow(name for name in request.methods if is_own(name))
    _permit(request)
    methods = _methods(request)
    chosen = _settings(request)
    _check_typed_trials(request, chosen)
    check_home(request.out, ROWS, "bench")
    try:
        request.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedkinError(f"{request.out} cannot be made: {error.strerror}") from None
    for name in (ROWS, LOCK, RUNS):  # of a folder that anybody may have made
        inside(request.out, name)
    with _locked(request.out):
        for remark in half_written(request.out / ROWS):
            tell(remark)
        cases = _cases(request, methods, _digests(request, chosen, tell))
        _say_untried(request, cases, tell)
        baselines = {
            (case.label, case.method): case.digest for case in cases if case.method in BASELINES
        }
        stages = [[case for case in cases if case.method == name] for name in BASELINES]
        for stage in (*stages, [case for case in cases if case.method not in BASELINES]):
            _run_cases(request, stage, baselines, tell)
        return _rows_of(request.out, cases)


def _permit(request: BenchRequest) -> None:
    """Code that the suite's file names is imported only where a person trusts the file."""
    specs = [parse(one.spec)[0] for one in request.suite.settings.values()]
    models = [name for spec in specs for name in code_of(spec)]
    code = [*filter(is_own, request.suite.methods), *models]
    if code and not request.trusted:
        raise FedkinError(
            f"{request.name} names code ({some(code, 3)}) that would run with your rights: if you "
            "trust where it comes from, say --trust-code"
        )
    allow(filter(is_own, request.suite.methods))
    for spec in specs:
        permit(spec)


def _methods(request: BenchRequest) -> tuple[str, ...]:
    named = tuple(known_name(name) for name in request.methods)
    return tuple(dict.fromkeys((*BASELINES, *named))) if named else request.suite.all_methods


def _settings(request: BenchRequest) -> list[str]:
    for label in request.settings:
        if label not in request.suite.settings:
            raise unknown("setting", label, request.suite.settings)
    return list(request.settings or request.suite.settings)


def _cases(
    request: BenchRequest, methods: Sequence[str], data_digests: Mapping[str, str]
) -> list[Case]:
    """Every method on every setting whose data are here."""
    return [
        case_of(request.name, request.suite, label, method, digest, _typed_trials(request, method))
        for method in methods
        for label, digest in data_digests.items()
    ]


def _typed_trials(request: BenchRequest, method: str) -> list[Content] | None:
    typed = method in request.methods and request.typed_trials
    return list(request.typed_trials) if typed else None


def _check_typed_trials(request: BenchRequest, labels: Sequence[str]) -> None:
    """Values that somebody typed are of hyper-parameters that the method has, before it waits for
    the baselines.
    """
    for method in request.methods if request.typed_trials else ():
        for label, values in product(labels, request.typed_trials):
            spec = request.suite.settings[label].spec
            trial = content_of(spec, known_name(method), request.suite.rates[0], values)
            method_of(parse(trial, where=label)[0])


def _say_untried(request: BenchRequest, cases: Sequence[Case], tell: Tell) -> None:
    """Values that somebody typed are not left out without a word."""
    for method in request.methods if request.typed_trials else ():
        case = next(case for case in cases if case.method == method)
        left_out = untried(request.suite.rates, case.own, request.suite.trials)
        if left_out:
            shown = [", ".join(f"{k}={v}" for k, v in values.items()) for values in left_out]
            trials = many(request.suite.trials, "trial")
            tell(f"{method}: {some(shown, 3)} is not tried, for the suite has {trials} a method")


def _digests(request: BenchRequest, labels: Sequence[str], tell: Tell) -> dict[str, str]:
    """The digest of each setting's data; a setting whose data are not here is left out, and one
    without validation samples, by which nobody could choose.
    """
    by_label: dict[str, str] = {}
    reasons = []
    for label in labels:
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


def _run_cases(
    request: BenchRequest, cases: Sequence[Case], baselines: BaselineDigests, tell: Tell
) -> None:
    """Run the cases that are not done, and append their rows. The baselines that they are compared
    with were run before.
    """
    earlier_rows = _rows_in(request.out)
    done = {row.case for row in earlier_rows}
    if back := _superseded(cases, earlier_rows):
        append(request.out / ROWS, back)
    remaining = [case for case in cases if case.digest not in done]
    if len(remaining) < len(cases):
        others = _by_other_versions(cases, earlier_rows)
        tell(f"{len(cases) - len(remaining)} of {len(cases)} are done already{others}")
    jobs = [(case, _allowance(case, baselines, earlier_rows)) for case in remaining]
    for number, (case, rows) in enumerate(_results(request, jobs), start=1):
        rows = with_gain_over_local(rows, baselines.get((case.label, ALONE)), earlier_rows)
        append(request.out / ROWS, rows)
        if not request.keep_runs:
            rmtree(_folder(request, case), ignore_errors=True)
        tell(f"{number}/{len(remaining)}  {case.label}  {case.method}  {in_one_line(rows)}")


def _by_other_versions(cases: Sequence[Case], all_rows: Sequence[Row]) -> str:
    """What other versions of fedkin measured: it stays, and is said."""
    wanted, this_version = {case.digest for case in cases}, versions()["fedkin"]
    version_of = {
        row.case: row.versions.get("fedkin", "unknown") for row in all_rows if row.case in wanted
    }
    other_versions = [version for version in version_of.values() if version != this_version]
    if not other_versions:
        return ""
    return (
        f", {len(other_versions)} of them by fedkin {some(sorted(set(other_versions)))}, not "
        f"{this_version}: another --out measures them again"
    )


def _superseded(cases: Sequence[Case], all_rows: Sequence[Row]) -> list[Row]:
    """The rows of cases that are done, but after which their method was searched again. The last
    search of a method counts, so these rows are written once more.
    """
    last = {(row.federation, row.method): row.case for row in all_rows}
    wanted = {case.digest for case in cases}
    return [
        row
        for row in all_rows
        if row.case in wanted and row.case != last[row.federation, row.method]
    ]


def _results(request: BenchRequest, jobs: Sequence[Job]) -> Iterator[tuple[Case, list[Row]]]:
    """(case, its rows) as they come; a process computes one case at a time, with one thread."""
    with _pool(request.workers) as pool:
        try:
            if pool is None:
                for case, allowance in jobs:
                    yield case, _run_case(case, _folder(request, case), allowance, request.data_dir)
                return
            waiting: dict[Future[list[Row]], Case] = {}
            for case, allowance in jobs:
                arguments = (case, _folder(request, case), allowance, request.data_dir)
                waiting[pool.submit(_run_case, *arguments)] = case
            while waiting:
                for job in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(job), job.result()
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(f"stopped: the same command goes on with {request.out}") from None
        except BrokenProcessPool:
            raise Halted(
                "a worker process was killed (out of memory?): the same command goes on where it "
                "was; --workers 1 needs the least"
            ) from None


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Worker processes; None for this one."""
    if workers == 1:
        yield None
        return
    started = get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=started, initializer=end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run_case(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    allow(outside_of(case))  # the person at this bench has typed its name
    return rows_of(case, folder, allowance, data_dir)


def _allowance(case: Case, baselines: BaselineDigests, all_rows: Sequence[Row]) -> Allowance | None:
    """What fedavg used in the setting's rounds, or why nobody knows; None of the two baselines."""
    if case.method in BASELINES:
        return None
    baseline_rows = [row for row in all_rows if row.case == baselines[case.label, SHARED]]
    complete = [
        row for row in baseline_rows if not row.missing and row.rounds == case.setting.rounds
    ]
    if complete:
        sent = {row.seed: row.bytes for row in complete}
        return Allowance(sent, {row.seed: row.flops for row in complete})
    reason = next((row.missing for row in baseline_rows if row.missing), "it has no row")
    return Allowance(missing=f"{SHARED} could not be run, so it sets no such budget: {reason}")


def _folder(request: BenchRequest, case: Case) -> Path:
    return inside(request.out, RUNS, f"{case.label}-{case.digest}")


def _rows_in(out: Path) -> list[Row]:
    path = out / ROWS
    return whole_cases(read_rows(path)) if path.exists() else []


def _rows_of(out: Path, cases: Sequence[Case]) -> list[Row]:
    wanted = {case.digest for case in cases}
    return [row for row in _rows_in(out) if row.case in wanted]


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    try:
        with FileLock(out / LOCK, timeout=0):
            yield
    except Timeout:
        raise FedkinError(
            f"{out} is another bench's, which is running: choose another --out"
        ) from None
