"""The commands that read runs and methods: what they show and write."""

import json
import sqlite3

import pytest

from fedkin.runs import checkpoint
from tests.awkward import record
from tests.cli.command import fedkin, told


def test_numbers_of_an_unfinished_run_say_so(tmp_path) -> None:
    folder = record(tmp_path / "run")
    assert "note: " not in fedkin("show", folder).stderr
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
    err = fedkin("show", folder).stderr
    assert err.startswith("note: ")
    assert f"these numbers are not its last ones (fedkin resume {folder} goes on)" in err
    with checkpoint.alone(folder):
        err = fedkin("show", folder).stderr
    assert err.splitlines()[0].endswith("not its last ones (it is in training now)")
    assert json.loads(fedkin("show", folder, "--json").stdout)["finished"] is False
    given = record(tmp_path / "given", values={"method": {"code": "0"}})
    with sqlite3.connect(given / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
    by_hand = f"(fedkin.resume({str(given)!r}, method=THE METHOD) goes on)"
    assert by_hand in fedkin("show", given).stderr


@pytest.mark.parametrize("command", ["show", "report"])
def test_what_is_no_run_is_told(command, tmp_path) -> None:
    assert str(tmp_path) in told(command, tmp_path)
    assert "gone" in told(command, tmp_path / "gone")


def test_a_report_says_what_it_wrote(tmp_path, monkeypatch) -> None:
    folder = record(tmp_path / "run")
    monkeypatch.setattr("fedkin.report.page.report.write_report", lambda run: run / "report.html")
    told_ = json.loads(fedkin("report", folder, "--json").stdout)
    assert told_ == {"written": [str(folder / "report.html")]}

    def figures(run, place):
        return [place / "a.svg", place / "a.png"]

    monkeypatch.setattr("fedkin.report.page.figure_files.write_figures", figures)
    lines = fedkin("report", folder, "--figures", tmp_path / "f").stdout.splitlines()
    assert lines == [str(tmp_path / "f" / "a.svg"), str(tmp_path / "f" / "a.png")]
