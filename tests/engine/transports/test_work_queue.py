"""Places of a list over several processes: each is taken by exactly one."""

import multiprocessing
import os
import time

from fedkin.engine.transports.work_queue import Claims, claims


def taking(claim, end, out):
    out.send(list(claim.up_to(end)))


def hesitating(*arguments, move=os.lseek):
    """Whoever has moved takes its time: were a place looked at and then taken, others would look at
    it meanwhile.
    """
    found = move(*arguments)
    time.sleep(0.001)
    return found


def test_places_come_in_order_and_end():
    one = claims()
    assert list(one.up_to(3)) == [0, 1, 2]
    assert list(one.up_to(3)) == []
    one.begin()
    assert list(one.up_to(2)) == [0, 1]
    one.close()


def test_each_place_is_one_processs(monkeypatch):
    monkeypatch.setattr(os, "lseek", hesitating)
    one, ends = claims(), 100
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(4)]
    others = [
        context.Process(target=taking, args=(Claims(one.file), ends, into)) for _, into in pipes
    ]
    for other in others:
        other.start()
    found = [out.recv() for out, _ in pipes]
    for other in others:
        other.join()
    assert sorted(place for part in found for place in part) == list(range(ends))
    assert all(part == sorted(part) for part in found)
    one.close()
