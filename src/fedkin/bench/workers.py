"""Worker processes: each runs one case of a bench at a time."""

import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, redirect_stdout
from multiprocessing import get_context
from pathlib import Path

from fedkin.bench.budgets import Allowance
from fedkin.bench.case import Case, rows_of
from fedkin.bench.request import BenchRequest
from fedkin.bench.row import Row
from fedkin.core.errors import Halted, some
from fedkin.core.files import write_file
from fedkin.core.system.user_code import is_user_code
from fedkin.engine.interrupts import TOLD
from fedkin.engine.transports.parent import end_with_parent
from fedkin.experiment.terminal import cleans_up_on_signals
from fedkin.experiment.training import Interrupted
from fedkin.methods.user_methods import allow
from fedkin.runs.directory import path_in_run

RUNS = "runs"  # the folder of all runs in that of a bench
RUNNING = "running"  # in the folder of a case while a worker is at it
GRACE = 20.0  # seconds in which a worker that is told to end keeps what it has counted
Job = tuple[Case, Allowance | None]


def results(
    request: BenchRequest, jobs: Sequence[Job]
) -> Generator[tuple[Case, list[Row]], None, None]:
    """Run cases; a process computes one at a time, with one thread.

    Args:
        request: Has the number of workers, and where the data and the runs are.
        jobs: Cases, each with what it may use.

    Yields:
        A case and its rows, as they come.

    Raises:
        Halted: The bench was stopped, or a worker was killed.
    """
    calls = [
        (case, folder_of(request, case), allowance, request.data_dir) for case, allowance in jobs
    ]
    with _pool(request.workers) as pool:
        try:
            if pool is None:
                for call in calls:
                    yield call[0], _run_case(*call)
                return
            for _, folder, *_ in calls:
                (folder / RUNNING).unlink(missing_ok=True)  # of a bench that was killed
            waiting = {pool.submit(_run_marked, *call): call[0] for call in calls}
            while waiting:
                for job in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(job), job.result()
        except (KeyboardInterrupt, Interrupted):
            raise Interrupted(f"stopped: the same command goes on with {request.out}") from None
        except BrokenProcessPool:
            running = [case for case, folder, *_ in calls if (folder / RUNNING).exists()]
            names = [f"{case.method} on {case.label}" for case in running]
            raise Halted(
                "a worker process was killed (out of memory?), or was ended by a method's own "
                f"code, with {some(names) or 'no method'} at work: the same command goes on where "
                "it was; --workers 1 needs the least"
            ) from None


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Worker processes; None for this one."""
    if workers == 1:
        yield None
        return
    started = get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=started, initializer=end_with_parent)
    to_be_told = True  # what ends a bench reaches this process alone
    try:
        yield pool
        to_be_told = False
    except (KeyboardInterrupt, Interrupted):
        to_be_told = False  # Ctrl-C reaches workers too
        raise
    finally:
        try:
            if not (to_be_told or TOLD):
                pool.shutdown(wait=True, cancel_futures=True)
        finally:
            if to_be_told or TOLD:  # a signal may come while workers are waited for
                _end(pool)


def _end(pool: ProcessPoolExecutor) -> None:
    """End the workers of a pool, whatever they are at."""
    # a notebook may have processes of its own: these are the pool's
    workers = list((pool._processes or {}).values())
    for worker in workers:
        worker.terminate()
    limit = time.monotonic() + GRACE
    for worker in workers:
        worker.join(max(limit - time.monotonic(), 0))
        if worker.is_alive():  # the signal came where Python loses it
            worker.kill()
    pool.shutdown(wait=True, cancel_futures=True)


def _run_marked(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    """A process that ends in the midst of a case tells nobody which one it was."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / RUNNING, b"", durable=False, links=False)
    rows = _run_in_worker(case, folder, allowance, data_dir)
    (folder / RUNNING).unlink(missing_ok=True)
    return rows


def _run_in_worker(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    try:
        with cleans_up_on_signals():  # what was counted until then is kept
            try:
                return _run_case(case, folder, allowance, data_dir)
            finally:
                _end_if_told()
    except KeyboardInterrupt:  # the signal may come while handlers are set or put back
        _end_if_told()
        raise


def _end_if_told() -> None:
    """A worker whose pool is broken meanwhile would wait for a task, and nobody would tell it to
    end once more: so it ends, also where the case failed of something else, or is done.
    """
    if TOLD:
        os._exit(1)


def _run_case(
    case: Case, folder: Path, allowance: Allowance | None, data_dir: str | None
) -> list[Row]:
    with redirect_stdout(sys.stderr):  # what a method prints is no result of the command
        allow(filter(is_user_code, [case.method]))  # the person at this bench has typed its name
        return rows_of(case, folder, allowance, data_dir)


def folder_of(request: BenchRequest, case: Case) -> Path:
    """Where the runs of a case are.

    Args:
        request: Has the bench's folder.
        case: A method on a setting.

    Returns:
        A folder within it, which may not exist.

    Raises:
        FedkinError: There is a link in its place.
    """
    return path_in_run(request.out, RUNS, f"{case.label}-{case.digest}")
