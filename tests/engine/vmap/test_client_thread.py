"""One client's work as a task that can be left waiting."""

import threading

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.ops import Batches, scan
from fedkin.engine.vmap.batcher import VmapBatcher
from fedkin.runtime.replay import Runtime
from tests.engine.vmap.batcher_examples import LINEAR, add, batches


def test_a_task_that_fails_ends_the_others():
    together = VmapBatcher(Runtime("trace"))
    ended = []

    def waits():
        try:
            scan(add, torch.tensor(0.0), batches(together, [1.0] * 3))
            scan(add, torch.tensor(0.0), batches(together, [1.0] * 3))
        finally:
            ended.append(1)

    def fails():
        raise FedkinError("no")

    with pytest.raises(FedkinError, match="no"):
        together.run([waits, fails, waits])
    assert ended == [1, 1]


def test_an_interrupt_leaves_no_thread(monkeypatch):
    together = VmapBatcher(Runtime("trace"))
    before = set(threading.enumerate())  # an earlier test's may stay, and are not waited for

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(together, "_scan_group", stop)
    with pytest.raises(KeyboardInterrupt):
        together.run([lambda: scan(add, torch.tensor(0.0), batches(together, [1.0]))] * 3)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert set(threading.enumerate()) <= before


def test_a_later_failure_is_every_clients_error():
    together = VmapBatcher(Runtime("trace"))
    told = []

    def task(mine):
        def gather(a, b):
            if a and mine == 0:
                raise ValueError("the disk is gone")
            return torch.ones(b - a)

        def work():
            try:
                return scan(add, torch.tensor(0.0), Batches(together, LINEAR, 8, gather, chunk=4))
            except ValueError as error:
                told.append(str(error))

        return work

    assert together.run([task(k) for k in range(2)]) == [None, None]
    assert told == ["the disk is gone"] * 2
