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

from fedkin.bench.beside import beside_local
from fedkin.bench.budgets import Allowance
from fedkin.bench.case import Case, case_of, outside_of, rows_of
from fedkin.bench.machine import versions
from fedkin.bench.row import Row, append, half_written, read_rows, whole_cases
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


class Asked(NamedTuple):
    """What is to be run. ``methods``, ``settings``: empty for all of the suite's. ``own``: values
    that a method of somebody's module tries.
    """

    name: str
    suite: Suite
    out: Path
    workers: int
    data_dir: str | None = None
    methods: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    own: tuple[Content, ...] = ()
    keep_runs: bool = False
    trusted: bool = False  # the suite's file may name code


Tell = Callable[[str], None]
Job = tuple[Case, Allowance | None]
Held = Mapping[tuple[str, str], str]  # (setting, baseline) → its search in this session


def bench(asked: Asked, tell: Tell) -> list[Row]:
    """All rows of what is asked for, those of earlier sessions too. What is finished stays when it
    is stopped, and the same call goes on.

    Args:
        asked: The suite, its part that is wanted, and where rows go.
        tell: Takes a sentence now and then.

    Returns:
        In the order in which they were written.

    Raises:
        FedkinError: A method, a setting or a value does not exist, before anything is run; or the
            folder cannot be written, or has a link where a bench has a file.
        Halted: The bench was stopped.
    """
    allow(name for name in asked.methods if is_own(name))
    _permit(asked)
    methods = _methods(asked)
    chosen = _settings(asked)
    _check_own(asked, chosen)
    check_home(asked.out, ROWS, "bench")
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedkinError(f"{asked.out} cannot be made: {error.strerror}") from None
    for name in (ROWS, LOCK, RUNS):  # of a folder that anybody may have made
        inside(asked.out, name)
    with _alone(asked.out):
        for remark in half_written(asked.out / ROWS):
            tell(remark)
        digests = _digests(asked, chosen, tell)
        cases = [
            case_of(asked.name, asked.suite, label, method, digest, _own(asked, method))
            for method in methods
            for label, digest in digests.items()
        ]
        _say_untried(asked, cases, tell)
        held = {
            (case.label, case.method): case.digest for case in cases if case.method in BASELINES
        }
        stages = [[case for case in cases if case.method == name] for name in BASELINES]
        for stage in (*stages, [case for case in cases if case.method not in BASELINES]):
            _all(asked, stage, held, tell)
        return _done(asked.out, cases)


def _permit(asked: Asked) -> None:
    """Code that the suite's file names is imported only where a person trusts the file."""
    specs = [parse(one.spec)[0] for one in asked.suite.settings.values()]
    models = [name for spec in specs for name in code_of(spec)]
    code = [*filter(is_own, asked.suite.methods), *models]
    if code and not asked.trusted:
        raise FedkinError(
            f"{asked.name} names code ({some(code, 3)}) that would run with your rights: if you "
            "trust where it comes from, say --trust-code"
        )
    allow(filter(is_own, asked.suite.methods))
    for spec in specs:
        permit(spec)


def _methods(asked: Asked) -> tuple[str, ...]:
    named = tuple(known_name(name) for name in asked.methods)
    return tuple(dict.fromkeys((*BASELINES, *named))) if named else asked.suite.all_methods


def _settings(asked: Asked) -> list[str]:
    for label in asked.settings:
        if label not in asked.suite.settings:
            raise unknown("setting", label, asked.suite.settings)
    return list(asked.settings or asked.suite.settings)


def _own(asked: Asked, method: str) -> list[Content] | None:
    return list(asked.own) if method in asked.methods and asked.own else None


def _check_own(asked: Asked, labels: Sequence[str]) -> None:
    """Values that somebody typed are of hyper-parameters that the method has, before it waits for
    the baselines.
    """
    for method in asked.methods if asked.own else ():
        for label, own in product(labels, asked.own):
            spec = asked.suite.settings[label].spec
            trial = content_of(spec, known_name(method), asked.suite.rates[0], own)
            method_of(parse(trial, where=label)[0])


def _say_untried(asked: Asked, cases: Sequence[Case], tell: Tell) -> None:
    """Values that somebody typed are not left out without a word."""
    for method in asked.methods if asked.own else ():
        case = next(case for case in cases if case.method == method)
        left = untried(asked.suite.rates, case.own, asked.suite.trials)
        if left:
            shown = some([", ".join(f"{k}={v}" for k, v in one.items()) for one in left], 3)
            trials = many(asked.suite.trials, "trial")
            tell(f"{method}: {shown} is not tried, for the suite has {trials} a method")


def _digests(asked: Asked, labels: Sequence[str], tell: Tell) -> dict[str, str]:
    """The digest of each setting's data; a setting whose data are not here is left out, and one
    without validation samples, by which nobody could choose.
    """
    by_label: dict[str, str] = {}
    reasons = []
    for label in labels:
        spec = asked.suite.settings[label].spec
        data = {**spec["data"], **({} if asked.data_dir is None else {"dir": asked.data_dir})}
        first = {**spec.get("run", {}), "seed": asked.suite.seeds[0]}
        try:
            whole = parse({**spec, "data": data, "run": first}, where=label)[0]
            population = population_of(whole, wanted=False)
            if not population.sizes("val").any():
                raise FedkinError(NO_VALIDATION)
            by_label[label] = population.digest()[:12]
        except FedkinError as error:
            reasons.append(f"{label} is left out: {error}")
            tell(reasons[-1])
    if not by_label:
        raise FedkinError(f"no setting can be run: {reasons[0]}")
    return by_label


def _all(asked: Asked, cases: Sequence[Case], held: Held, tell: Tell) -> None:
    """Run the cases that are not done, and append their rows. What they are held against is done
    before.
    """
    known = _rows(asked.out)
    there = {row.case for row in known}
    if back := _gone_back_to(cases, known):
        append(asked.out / ROWS, back)
    left = [case for case in cases if case.digest not in there]
    if len(left) < len(cases):
        tell(f"{len(cases) - len(left)} of {len(cases)} are done already{_by_others(cases, known)}")
    jobs = [(case, _allowance(case, held, known)) for case in left]
    for number, (case, rows) in enumerate(_worked(asked, jobs), start=1):
        rows = beside_local(rows, held.get((case.label, ALONE)), known)
        append(asked.out / ROWS, rows)
        if not asked.keep_runs:
            rmtree(_folder(asked, case), ignore_errors=True)
        tell(f"{number}/{len(left)}  {case.label}  {case.method}  {_summary(rows)}")


def _by_others(cases: Sequence[Case], known: Sequence[Row]) -> str:
    """What other versions of fedkin measured: it stays, and is said."""
    asked, own = {case.digest for case in cases}, versions()["fedkin"]
    version_of = {
        row.case: row.versions.get("fedkin", "unknown") for row in known if row.case in asked
    }
    others = [version for version in version_of.values() if version != own]
    if not others:
        return ""
    return (
        f", {len(others)} of them by fedkin {some(sorted(set(others)))}, not {own}: another --out "
        "measures them again"
    )


def _gone_back_to(cases: Sequence[Case], known: Sequence[Row]) -> list[Row]:
    """The rows of cases that are done, but not their method's last: written again, they are."""
    last = {(row.federation, row.method): row.case for row in known}
    asked = {case.digest for case in cases}
    return [
        row for row in known if row.case in asked and row.case != last[row.federation, row.method]
    ]


def _worked(asked: Asked, jobs: Sequence[Job]) -> Iterator[tuple[Case, list[Row]]]:
    """(case, its rows) as they come; a process computes one case at a time, with one thread."""
    with _pool(asked.workers) as pool:
        try:
            if pool is None:
                for case, allowance in jobs:
                    yield case, _work(case, _folder(asked, case), allowance, asked.data_dir)
                return
            waiting: dict[Future[list[Row]], Case] = {}
            for case, allowance in jobs:
                what = (case, _folder(asked, case), allowance, asked.data_dir)
                waiting[pool.submit(_work, *what)] = case
            while waiting:
                for job in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(job), job.result()
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(f"stopped: the same command goes on with {asked.out}") from None
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


def _work(case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None) -> list[Row]:
    allow(outside_of(case))  # the person at this bench has typed its name
    return rows_of(case, folder, allowance, data_dir)


def _allowance(case: Case, held: Held, known: Sequence[Row]) -> Allowance | None:
    """What fedavg used in the setting's rounds, or why nobody knows; None of the two baselines."""
    if case.method in BASELINES:
        return None
    mine = [row for row in known if row.case == held[case.label, SHARED]]
    whole = [row for row in mine if not row.missing and row.rounds == case.setting.rounds]
    if whole:
        sent = {row.seed: row.bytes for row in whole}
        return Allowance(sent, {row.seed: row.flops for row in whole})
    why = next((row.missing for row in mine if row.missing), "it has no row")
    return Allowance(missing=f"{SHARED} could not be run, so it sets no such budget: {why}")


def _summary(rows: Sequence[Row]) -> str:
    """Its mean under the first of its budgets, and what of the others is missing."""
    first = set(rows[0].budgets[:1])
    mine = [row for row in rows if first <= set(row.budgets)]
    lost = next((row.missing for row in mine if row.missing), "")
    if lost:
        return f"not run: {lost}"
    means = [row.mean for row in mine if row.mean is not None]
    seconds = sum(row.seconds for row in rows)
    rest = "".join(f"; {', '.join(row.budgets)}: {row.missing}" for row in rows if row.missing)
    return f"{rows[0].measure} {sum(means) / len(means):.4f}  {seconds:.0f} s of its rows{rest}"


def _folder(asked: Asked, case: Case) -> Path:
    return inside(asked.out, RUNS, f"{case.label}-{case.digest}")


def _rows(out: Path) -> list[Row]:
    path = out / ROWS
    return whole_cases(read_rows(path)) if path.exists() else []


def _done(out: Path, cases: Sequence[Case]) -> list[Row]:
    wanted = {case.digest for case in cases}
    return [row for row in _rows(out) if row.case in wanted]


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    try:
        with FileLock(out / LOCK, timeout=0):
            yield
    except Timeout:
        raise FedkinError(
            f"{out} is another bench's, which is running: choose another --out"
        ) from None
