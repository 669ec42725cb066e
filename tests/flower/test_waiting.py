"""Who is waited for where a run goes on, and the word of it; beside a grid of test_dispatcher."""

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower import dispatcher
from fedkin.flower.waiting import hello_again, word_at
from tests.flower.test_dispatcher import Grid, clock, dispatching

__all__ = ["clock"]  # the fixture


def test_a_node_that_is_connected_and_silent_is_waited_for_no_longer_and_can_be_stopped(
    clock, tmp_path
):
    """Its deadline is long; it is asked once, and has a minute."""
    grid, word, stop = Grid(clock, after={"b": 999}), tmp_path / "word", tmp_path / "stop"
    of = dispatching(grid, deadline=600)
    began = clock.now
    hello_again(of, 5, word, stop)
    assert clock.now - began < 62
    assert [one.metadata.dst_node_id for one in grid.pushed] == [10, 11, 12]
    assert word_at(word) == "going on without b (1 of 3 nodes)"
    said, sleep = [], clock.sleep

    def sleeping(seconds):
        said.append(word_at(word))
        if clock.now - began > 4:
            stop.touch()
        sleep(seconds)

    dispatcher.time.sleep, began = sleeping, clock.now
    word.unlink()
    with pytest.raises(Interrupted, match=r"^stopped while waiting for b$"):
        hello_again(of, 500, word, stop)
    assert clock.now - began < 6
    assert said[-1] == "waiting for b (1 of 3 nodes)"


def test_a_run_that_goes_on_waits_for_its_nodes_then_goes_on_without_them(clock, tmp_path):
    grid, word = Grid(clock), tmp_path / "word"
    of = dispatching(grid)
    hello_again(of, 2, word)
    assert (clock.slept, of.remarks, word_at(word)) == ([], [], "")
    grid.offline = {"b", "c"}
    hello_again(of, 2, word)
    assert clock.slept == [1, 1, 1]
    assert word_at(word) == "going on without b, c (2 of 3 nodes)"
    assert of.remarks == [
        "the run was continued without b, c (2 of 3 nodes); b: its node is not connected"
    ]
    grid.offline = set("abc")
    with pytest.raises(FedkinError, match=r"^3 of 3 clients are not ready\. a: its node is not"):
        hello_again(of, 2, word)
    stop = tmp_path / "stop"
    stop.touch()
    with pytest.raises(Interrupted, match=r"^stopped while waiting for a, b, c$"):
        hello_again(of, 2, word, stop)
