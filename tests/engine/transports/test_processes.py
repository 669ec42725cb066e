"""What worker processes are asked for."""

import errno
from types import SimpleNamespace

import pytest

from fedkin.core.errors import Halted
from fedkin.engine.round import replies
from fedkin.engine.transports import processes
from fedkin.engine.transports.failures import error_header
from fedkin.experiment.run import run
from tests.engine.small import FORKED, outcome, small

FULL = {"run__participation": 1.0}


@pytest.mark.parametrize(("left_out", "asked"), [({}, 0), ({4: "far off"}, 1)])
def test_workers_are_asked_for_another_sum_only_without_somebody(
    left_out, asked, tmp_path, monkeypatch
):
    """A worker's sum comes with its last answers; who is left out is in none."""
    monkeypatch.setattr(processes, "subprocess", FORKED)
    monkeypatch.setattr(replies, "far_off", lambda largest: left_out)
    calls, send = [], processes.Processes._send

    def noting(self, worker, header, blobs):
        calls.append(header.get("call"))
        send(self, worker, header, blobs)

    monkeypatch.setattr(processes.Processes, "_send", noting)
    two = {"engine__name": "processes", "engine__workers": 2}
    found = run(small("fedavg", run__rounds=2, **FULL, **two), tmp_path / "two")
    assert calls.count("sum") == 2 * asked
    assert outcome(found) == outcome(run(small("fedavg", run__rounds=2, **FULL), tmp_path / "one"))


def test_a_full_disk_of_a_worker_ends_a_sweep_and_loses_no_trial():
    """What is raised here is what a sweep takes for no trial's own mistake."""
    host = object.__new__(processes.Processes)
    host._lines = [SimpleNamespace(receive=lambda: (error_header(Halted("no space left")), []))]
    with pytest.raises(Halted, match="no space left"):
        host._receive(0)


@pytest.mark.parametrize("cut_off", [EOFError(), OSError("got end of file during message")])
def test_a_worker_that_dies_while_it_calls_is_named(cut_off, monkeypatch):
    calls = iter([cut_off, TimeoutError()])

    def called():
        raise next(calls)

    host = object.__new__(processes.Processes)
    host._processes, host._claims = [SimpleNamespace(poll=lambda: 3)], SimpleNamespace(file=None)
    monkeypatch.setattr(host, "_lost", lambda worker, what: Halted(f"{worker} {what}"))
    with pytest.raises(Halted, match="0 did not start"):
        host._accept(SimpleNamespace(accept=called))


def test_a_machine_without_room_for_a_line_is_named(monkeypatch):
    """And not the worker, which is in order and ends when nobody answers it."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(processes, "offer", full)
    host = object.__new__(processes.Processes)
    host._processes, host._claims = [], SimpleNamespace(file=None)
    with pytest.raises(Halted, match="cannot be reached: No space left"):
        host._accept(SimpleNamespace(accept=lambda: None))
