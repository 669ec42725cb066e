"""What to do next: commands that can be typed where the page is read."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fedkin.report.collaboration import Groups
from fedkin.report.page.gain import gain_of
from fedkin.report.page.next_steps import next_steps
from fedkin.report.page.report import write_report
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.page.lead_examples import beside
from tests.report.records_for_tests import write


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


def test_of_sums_nobody_is_compared_with_its_own_training(tmp_path: Path) -> None:
    folder = write(tmp_path / "masked")
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("DELETE FROM metrics WHERE client > 0")
        database.execute("UPDATE metrics SET client = -1")
    _, commands = steps(folder)
    assert not [command for command in commands if "--method local" in command]
    assert [command for command in commands if command.startswith("fedkin show")]


def test_a_page_that_is_passed_on_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    text = write_report(beside(tmp_path)).read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "fedkin compare local comet" in text
