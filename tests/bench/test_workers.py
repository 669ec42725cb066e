"""Worker processes of a bench."""

import os
import signal
import subprocess
import sys
import time

POOL = """
import os, time
from fedkin.bench.workers import _pool
with _pool(2) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""


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
