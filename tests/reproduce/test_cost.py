"""What a row took."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedkin.core.errors import Halted
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


@pytest.mark.parametrize("stops", [True, False])
def test_a_full_disk_is_told_once(
    stops: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the run itself where it stopped at it; and what is asked next is not trained in vain."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def work(progress: Progress) -> Path:
        progress(Record(0, "setup", [], [], {}, {}, {}, {}, {}))
        if stops:
            raise Halted("the run says it")
        return tmp_path

    monkeypatch.setattr("fedkin.reproduce.cost.write_file", full)
    with pytest.raises(Halted, match="the run says it" if stops else f"{KEPT} cannot be written"):
        clocked(tmp_path, work)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        "3",
        '{"total": "long"}',
        '{"total": 1.5, "until": "x"}',
        '{"more": 1}',
        '{"total": NaN}',
        '{"total": Infinity}',
        '{"total": -1.5}',
        '{"total": 1.5, "round": Infinity}',
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
