"""What a row took."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedkin.experiment.training import Progress
from fedkin.reproduce.cost import KEPT, Cost, clocked, cost, parts
from fedkin.runs.record import Record


def test_a_run_in_several_sessions_costs_their_sum(tmp_path: Path) -> None:
    marks = [("setup", 1.0), ("round", 4.0), ("round", 6.0), ("round", 8.0), ("finish", 9.0)]
    assert parts(marks, 0.5, 9.5) == Cost(9.0, 3.5, 2.0, 1.5)
    assert parts(marks[2:], 0.5, 9.5) == Cost(9.0)  # resumed: only its total is known

    def session(first: int, *phases: str) -> Callable[[Progress], Path]:
        def work(progress: Progress) -> Path:
            for number, phase in enumerate(phases, first):
                progress(Record(number, phase, [], [], {}, {}, {}, {}, {}))
            return tmp_path

        return work

    clocked(tmp_path, session(4, "round"))
    assert (
        cost(tmp_path) is None
    )  # a session before it was killed: what this one took is not what the run took
    clocked(tmp_path, session(0, "setup", "round"))
    first = cost(tmp_path)
    clocked(tmp_path, session(2, "round"))
    second = cost(tmp_path)
    assert first is not None
    assert second is not None
    assert second.total >= first.total
    clocked(tmp_path, session(3))  # nothing was left to do
    assert cost(tmp_path) == second
    clocked(tmp_path, session(5, "round", "finish"))
    assert cost(tmp_path) is None  # rounds 3 and 4 were a session's that was killed


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        "3",
        '{"total": "long"}',
        '{"total": 1.5, "until": "x"}',
        '{"more": 1}',
        "{",
        " " * (1 << 16) + "{}",
    ],
    ids=lambda text: text[:16],
)
def test_a_cost_that_is_none_is_not_known(text: str, tmp_path: Path) -> None:
    (tmp_path / KEPT).write_text(text)
    assert cost(tmp_path) is None


def test_a_cost_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / KEPT)
    assert cost(tmp_path) is None
