"""Who is waited for where a run goes on, and the word of it; beside a grid of test_dispatcher."""

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.training import Interrupted
from fedkin.flower.waiting import hello_again, word_at
from tests.flower.test_dispatcher import Grid, clock, dispatching

__all__ = ["clock"]  # the fixture


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
