"""A whole suite: its cases are run, their rows appended as they come, and gone on with where it was
stopped.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree

from filelock import FileLock, Timeout

from fedkin.bench.budgets import Allowance
from fedkin.bench.case import Case
from fedkin.bench.gain_over_local import with_gain_over_local
from fedkin.bench.machine import versions
from fedkin.bench.request import BenchRequest, Tell, cases_of, check_request
from fedkin.bench.row import ROWS, Row, append, half_written, in_one_line, read_rows, whole_cases
from fedkin.bench.suite import ALONE, BASELINES, SHARED
from fedkin.bench.workers import RUNS, folder_of, results
from fedkin.core.errors import FedkinError, some
from fedkin.runs.directory import check_home, path_in_run
from fedkin.runs.output_files import make_folder

LOCK = ".lock"
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
    check_request(request)
    _make_folder(request.out)
    with _locked(request.out):
        for remark in half_written(request.out / ROWS):
            tell(remark)
        cases = cases_of(request, tell)
        baselines = {
            (case.label, case.method): case.digest for case in cases if case.method in BASELINES
        }
        stages = [[case for case in cases if case.method == name] for name in BASELINES]
        for stage in (*stages, [case for case in cases if case.method not in BASELINES]):
            _run_cases(request, stage, baselines, tell)
        return _rows_of(request.out, cases)


def _make_folder(out: Path) -> None:
    check_home(out, ROWS, "bench")
    make_folder(out)
    for name in (ROWS, LOCK, RUNS):  # of a folder that anybody may have made
        path_in_run(out, name)


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
    with closing(results(request, jobs)) as coming:  # workers end with it, whatever happens here
        for number, (case, rows) in enumerate(coming, start=1):
            rows = with_gain_over_local(rows, baselines.get((case.label, ALONE)), earlier_rows)
            append(request.out / ROWS, rows)
            if not request.keep_runs:
                rmtree(folder_of(request, case), ignore_errors=True)
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


def _allowance(case: Case, baselines: BaselineDigests, all_rows: Sequence[Row]) -> Allowance | None:
    """What fedavg used in the setting's rounds, or why nobody knows; None of the two baselines."""
    if case.method in BASELINES:
        return None
    rounds = case.setting.rounds
    baseline_rows = [row for row in all_rows if row.case == baselines[case.label, SHARED]]
    complete = [row for row in baseline_rows if not row.missing and row.rounds == rounds]
    if complete:
        sent = {row.seed: row.bytes for row in complete}
        return Allowance(sent, {row.seed: row.flops for row in complete})
    reason = next((row.missing for row in baseline_rows if row.missing), "it has no row")
    return Allowance(missing=f"{SHARED} could not be run, so it sets no such budget: {reason}")


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
