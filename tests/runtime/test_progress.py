"""What lasts says how far it is, and what ends soon says nothing."""

from pathlib import Path

import pytest
from rich.console import Console

from fedkin.experiment import throttled_lines
from fedkin.experiment.progress import LiveTable, Tally
from fedkin.experiment.throttled_lines import ThrottledLines
from fedkin.runs.record import Record
from fedkin.runs.spec import Spec
from fedkin.runtime.progress import progress_to, report_progress, tracked, tracked_stream
from tests.cli.command import SMALL, fedkin


def lines_of(seconds: float) -> list[str]:
    """What is said of six pieces of work that take so long each, the third with parts."""
    said: list[str] = []
    now = [100.0]
    with progress_to(ThrottledLines(said.append, lambda: now[0])):
        for number in tracked("probing", list(range(6))):
            now[0] += seconds
            if number == 2:
                assert list(tracked_stream("finishing", iter("ab"), 2)) == ["a", "b"]
    report_progress("nobody listens", 1, 2)
    return said


def test_a_line_every_three_seconds_with_the_time_left() -> None:
    assert lines_of(0.4) == []
    assert lines_of(2.0) == [
        "probing: 2 of 6, about 8 s left",
        "probing: 4 of 6, about 4 s left",
    ]
    assert lines_of(4.0)[:3] == [
        "probing: 1 of 6, about 20 s left",
        "probing: 2 of 6, about 16 s left",
        "finishing: 0 of 2",
    ]


@pytest.mark.rotating
def test_a_finish_and_a_doctor_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttled_lines, "PATIENCE", 0.0)
    asked = [*SMALL[:2], "--rounds", "1", "--clients", "3", "--set", "train.steps=1"]
    done = fedkin("run", *asked, "--method", "finetune", "--out", tmp_path / "run")
    assert "finishing clients: 2 of 3, about " in done.stdout
    told = fedkin("doctor", "--method", "finetune", "--rounds", "1", "--set", "run.clients=3")
    assert "probing methods: 1 of " in told.stderr
    assert "comparing ways to share: 14 of 15" in told.stderr
    rows = [",".join(str(k * j % (9 if j == 64 else 17)) for j in range(65)) for k in range(24)]
    mine = tmp_path / "mine.csv"
    mine.write_text("\n".join([",".join([*map(str, range(64)), "label"]), *rows]))
    joined = fedkin("join", tmp_path / "run", "--data", mine, "--rounds", "2")
    assert "rounds of the newcomer at place 1, at most: 1 of 3" in joined.stderr
    written = fedkin("export", tmp_path / "run", "--all")
    assert "exporting models: 2 of 3" in written.stderr


def test_a_live_table_has_it_until_the_next_record() -> None:
    tally = Tally(Spec(), "head")
    table = LiveTable(tally, Console())
    table.show_progress("finishing clients", 0, 20)
    assert tally.progress_line == "finishing clients: 0 of 20"
    table.show_progress("finishing clients", 5, 20)
    assert tally.progress_line.startswith("finishing clients: 5 of 20, about ")
    table.update(Record(1, "finish", [], [], {}, {}, {}, {}, {}))
    assert tally.progress_line == ""
