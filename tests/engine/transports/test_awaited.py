"""A worker that was stopped: who is awaited is said, and once it goes on so does the run."""

import logging
import os
import signal
import subprocess

import pytest

from fedkin.engine.op import Task
from fedkin.engine.transports import awaited, processes
from fedkin.engine.transports.awaited import Awaited
from fedkin.experiment.run import run
from tests.engine.small import FORKED, outcome, small


@pytest.fixture
def sleeping():
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def test_who_is_awaited_is_said(sleeping, caplog):
    waiting = Awaited({3: sleeping.pid}, {3: [Task(client, b"") for client in (7, 2, 9)]})
    waiting.answered(2)
    waiting.say([3])
    assert caplog.messages == [
        f"no answer for 60 s: worker process 3 (pid {sleeping.pid}) with clients 7, 9 is at work"
    ]
    assert waiting.patience == 120
    os.kill(sleeping.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, sleeping.pid, os.WSTOPPED)
    waiting.say([3])
    assert caplog.messages[1].startswith("no answer for 120 s")
    assert caplog.messages[1].endswith(f"is stopped: let it go on with kill -CONT {sleeping.pid}")


class Operator(logging.Handler):
    """Lets a process go on once a warning names it: the logger itself passes everything to its
    handlers (experiment/terminal.py), debugging too, which names nobody.
    """

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())
        os.kill(record.args[2], signal.SIGCONT)


@pytest.fixture
def operator():
    handler, level = Operator(), awaited.LOG.level
    awaited.LOG.setLevel(logging.DEBUG)  # as after an import of the terminal, whoever came first
    awaited.LOG.addHandler(handler)
    yield handler
    awaited.LOG.removeHandler(handler)
    awaited.LOG.setLevel(level)


@pytest.mark.parametrize("method", ["fedavg", "ditto"])
def test_a_run_whose_worker_is_stopped_goes_on_with_it(method, operator, tmp_path, monkeypatch):
    """As the operator would, who reads the sentence."""
    stopped = []

    class Stopping(Awaited):
        def __init__(self, pids, piles):
            super().__init__(pids, piles)
            if len(pids) > 1 and not stopped:
                stopped.append(max(pids.values()))
                os.kill(stopped[0], signal.SIGSTOP)

    settings = {"run__clients": 4, "run__rounds": 2}
    plain = outcome(run(small(method, **settings), tmp_path / "plain"))
    monkeypatch.setattr(processes, "subprocess", FORKED)
    monkeypatch.setattr(processes, "Awaited", Stopping)
    monkeypatch.setattr(awaited, "PATIENCE", 0.3)
    two = small(method, **settings, engine__name="processes", engine__workers=2)
    assert outcome(run(two, tmp_path / "run")) == plain
    assert any(f"(pid {stopped[0]})" in line and "is stopped" in line for line in operator.said)
