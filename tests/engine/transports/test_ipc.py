"""Bytes between processes of one machine: through files in memory, and through the pipe where they
are too many.
"""

import os
import threading
from multiprocessing import Pipe

import pytest

from fedkin.engine.transports import ipc
from fedkin.engine.transports.ipc import accept, offer


@pytest.fixture
def ends(tmp_path):
    one, other = Pipe()
    with open(tmp_path / "beside", "w+b") as file:
        made = offer(one, file)
        joined, beside = accept(other)
        with beside:
            yield made, joined
    made.close()
    joined.close()


def crossed(one, other, header, blobs):
    """What arrives; both ends at work, as a pipe holds little."""
    sender = threading.Thread(target=one.tell, args=(header, blobs))
    sender.start()
    found = other.receive()
    sender.join()
    return found


def test_bytes_arrive_in_their_order(ends):
    for _ in range(2):
        ends[0].begin()
        ends[1].begin()
        for one, other in (ends, ends[::-1]):
            blobs = [b"a" * 10, b"", b"b" * 300_000]
            assert crossed(one, other, {"call": "do"}, blobs) == ({"call": "do"}, blobs)
            assert crossed(one, other, {}, [b"c"]) == (
                {},
                [b"c"],
            )  # a second answer leaves the first one alone


@pytest.mark.parametrize("room", [0, 10, 15])
def test_what_is_too_much_goes_through_the_pipe(ends, room, monkeypatch):
    monkeypatch.setattr(ipc, "ROOM", room)
    blobs = [b"a" * 9, b"b" * 300_000, b"c" * 5]
    assert crossed(*ends, {}, blobs) == ({}, blobs)


def test_memory_that_is_full(ends, monkeypatch):
    def full(file, blob, first):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert crossed(*ends, {}, [b"a" * 9]) == ({}, [b"a" * 9])


def test_an_end_that_is_gone(ends):
    ends[0].connection.close()
    with pytest.raises(EOFError):
        ends[1].receive()
