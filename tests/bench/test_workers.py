"""Worker processes of a bench."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fedkin.bench import workers
from fedkin.bench.case import case_of
from fedkin.core.errors import FedkinError, Halted
from fedkin.engine.interrupts import TOLD
from fedkin.methods.user_methods import allow
from tests.bench.tiny import tiny, tiny_request

LEAVES = """
import os
from fedkin.core.method import Method
def leaves(*, lr: float) -> Method:
    os._exit(0)
"""
POOL = """
import os, time
from fedkin.bench.workers import _pool
with _pool(2) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""
STUBBORN = """
import time
def waits():
    while True:
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            pass
"""
BUSY = """
import os, sys, time
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from types import SimpleNamespace
from fedkin.bench import workers
from fedkin.bench.workers import _pool, _run_in_worker
from fedkin.experiment.terminal import cleans_up_on_signals
suite, setting = SimpleNamespace(seeds=[0]), SimpleNamespace(rounds=1)
if sys.argv[2:]:
    from stubborn import waits
    workers.GRACE = 1.0
else:
    waits = partial(time.sleep, 600)
case = SimpleNamespace(method="local", suite=suite, setting=setting, tried=waits)
folder = Path(sys.argv[1])
with cleans_up_on_signals(), _pool(2) as pool:
    busy = pool.submit(_run_in_worker, case, folder, None, None)
    pool.submit(os.getpid).result()
    while not folder.is_dir():
        time.sleep(0.1)
    print(*[worker.pid for worker in active_children()], flush=True)
    busy.result()
"""


@pytest.mark.rotating
def test_an_idle_worker_ends_with_a_bench_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", POOL], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        worker = int(killed.stdout.readline())
        killed.send_signal(signal.SIGKILL)
    try:
        assert _ended(worker)
    finally:
        if not _ended(worker, 0):
            os.kill(worker, signal.SIGKILL)


def test_a_bench_that_fails_ends_its_own_workers_alone() -> None:
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    other.start()
    try:
        with suppress(ZeroDivisionError), workers._pool(2) as pool:
            assert pool is not None
            worker = pool.submit(os.getpid).result()
            pool.submit(time.sleep, 600)
            raise ZeroDivisionError
        assert _ended(worker)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()


def test_what_a_method_prints_is_no_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workers, "rows_of", lambda *given: print("trial 1"))
    workers._run_case(case_of("tiny", tiny(), "digits", "local", "data"), Path("runs"), None, None)
    assert capsys.readouterr() == ("", "trial 1\n")


@pytest.mark.rotating
@pytest.mark.usefixtures("own_modules")
def test_a_method_that_ends_its_process_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves7.py").write_text(LEAVES)
    monkeypatch.syspath_prepend(str(tmp_path))
    allow(["leaves7:leaves"])
    suite = tiny(methods=["leaves7:leaves"])
    case = case_of("tiny", suite, "digits", "leaves7:leaves", "data")
    request = tiny_request(tmp_path, suite=suite)._replace(workers=2)
    with pytest.raises(Halted, match="with leaves7:leaves on digits at work: the same command"):
        list(workers.results(request, [(case, None)]))


@pytest.mark.rotating
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signal")
@pytest.mark.parametrize("loses_it", [False, True])
def test_a_bench_that_is_told_to_end_waits_for_no_case(
    loses_it: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal reaches one process alone, and a case may take hours. One worker is idle, and
    breaks the pool; the other one is in the midst of a case, which may not hear it.
    """
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    run = [sys.executable, "-c", BUSY, str(tmp_path / "case"), *["loses it"] * loses_it]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as told:
        assert told.stdout is not None
        workers_of = told.stdout.readline().split()
        told.send_signal(signal.SIGTERM)
        try:
            told.wait(60)
        except subprocess.TimeoutExpired:
            told.kill()
            raise
    assert len(workers_of) == 2
    assert all(_ended(int(worker)) for worker in workers_of)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signal")
def test_a_worker_that_is_told_to_end_unwinds_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its run has counted so far is kept."""
    unwound: list[str] = []

    def case(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            unwound.append("counted")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(workers, "_run_case", case)
    monkeypatch.setattr(os, "_exit", leave)
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit):
            workers._run_in_worker(None, None, None, None)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert unwound == ["counted"]


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signal")
@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_that_is_told_to_end_ends_whatever_became_of_its_case(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may fail meanwhile, or lose the signal: its pool is broken, and nobody tells it again."""

    def case(*_: object) -> None:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        if fails:
            raise FedkinError("it diverged")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(workers, "_run_case", case)
    monkeypatch.setattr(os, "_exit", leave)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit):
            workers._run_in_worker(None, None, None, None)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_worker_that_is_told_to_end_when_its_case_is_done_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While its handlers are put back: later ones are the system's."""

    @contextmanager
    def late() -> Iterator[None]:
        yield
        TOLD.add(signal.SIGTERM)
        raise KeyboardInterrupt

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(workers, "_run_case", lambda *_: [])
    monkeypatch.setattr(workers, "cleans_up_on_signals", late)
    monkeypatch.setattr(os, "_exit", leave)
    try:
        with pytest.raises(SystemExit):
            workers._run_in_worker(None, None, None, None)
    finally:
        TOLD.clear()


def _ended(process: int, seconds: float = 30) -> bool:
    """Whether a process that is nobody's child ends in so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if time.monotonic() >= limit:
            return False
        time.sleep(0.1)
