"""What to do next: commands that can be typed where the page is read."""

import sqlite3
from pathlib import Path

import pytest

from fedkin.report.collaboration import Groups
from fedkin.report.page.gain import Gain, gain_of
from fedkin.report.page.next_steps import _verdict, next_steps
from fedkin.report.page.report import write_report
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.page.lead_examples import beside
from tests.report.records_for_tests import write

LAST = 9  # the finish of a longer run


def steps(folder: Path, groups: Groups | None = None) -> tuple[str, list[str]]:
    with opened(folder) as run:
        found = of_run(run)
        told = next_steps(run, found, gain_of(run, found), groups)
    return " ".join(step.text for step in told), [step.command for step in told if step.command]


def test_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said, commands = steps(beside(tmp_path), Groups("cluster", {0: 0, 1: 1, 2: 1}))
    assert "Not significant" in said
    assert "Worse off than with local training alone: client b (−10.00 points)." in said
    assert "Most gains: cluster 0 (1 client, mean +30.00 points)." in said
    assert "Least: cluster 1 (2 clients, mean −5.00 points)." in said
    assert commands == [
        "fedkin run comet/experiment.toml --set method.safe=true",
        "fedkin compare local comet --html compare.html",
        "fedkin show comet --json",
    ]
    said, commands = steps(write(tmp_path / "half", finished=False, until=1))
    assert commands[0] == "fedkin resume half"
    said, commands = steps(write(tmp_path / "alone" / "x"))
    assert "fedkin run alone/x/experiment.toml --method local --out alone/local" in commands


@pytest.mark.parametrize(
    ("low", "p", "word"),
    [(0.01, 0.001, "Significant"), (0.01, 0.26, "Not certain"), (-0.01, 0.26, "Not significant")],
)
def test_a_gain_is_certain_where_both_tests_say_so(low: float, p: float, word: str) -> None:
    by = {0: 0.3, 1: -0.1, 2: 0.2}
    gain = Gain("local", "accuracy", "", {}, by, 0.13, low, 0.4, p)
    said = _verdict(gain)
    assert said.startswith(word)
    assert f"Wilcoxon p = {p:.4f}" in said


def test_what_a_finish_gains_is_no_reason_for_more_rounds(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", rounds=LAST - 1)
    with sqlite3.connect(folder / "run.db") as database:
        for table in ("rounds", "metrics"):
            database.execute(f"UPDATE {table} SET round = ? WHERE round = 3", (LAST,))
            for number in range(3, LAST):
                database.execute(f"CREATE TEMP TABLE more AS SELECT * FROM {table} WHERE round = 2")
                database.execute("UPDATE more SET round = ?", (number,))
                database.execute(f"INSERT INTO {table} SELECT * FROM more")
                database.execute("DROP TABLE more")
        database.execute("UPDATE metrics SET accuracy = 0.5")
        database.execute("UPDATE metrics SET accuracy = 0.9 WHERE round = ?", (LAST,))
    assert "more rounds may help" not in steps(folder)[0]
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE metrics SET accuracy = 0.05 * round WHERE round < ?", (LAST,))
    assert "more rounds may help" in steps(folder)[0]


def test_a_page_that_is_passed_on_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    text = write_report(beside(tmp_path)).read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "fedkin compare local comet" in text
