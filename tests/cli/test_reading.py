"""The commands that train nothing: what they take for runs, and where they write."""

import json
import sqlite3

import pytest

from fedkin.cli.completion import method_names
from fedkin.cli.reading import as_given
from fedkin.runs.outside import STUDY
from tests.awkward import record
from tests.cli.command import fedkin, told


def test_names_are_completed(monkeypatch) -> None:
    names = [{"name": name} for name in ("ditto", "fedpac", "fedper")]
    monkeypatch.setattr("fedkin.cli.listing.methods.methods", lambda: names)
    assert method_names("fedp") == ["fedpac", "fedper"]
    assert method_names("zz") == []
    assert as_given(None) is None


def test_numbers_of_an_unfinished_run_say_so(tmp_path) -> None:
    folder = record(tmp_path / "run")
    assert "note: " not in fedkin("show", folder).stderr
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
    err = fedkin("show", folder).stderr
    assert err.startswith("note: ")
    assert f"these numbers are not its last ones (fedkin resume {folder} goes on)" in err
    assert json.loads(fedkin("show", folder, "--json").stdout)["finished"] is False
    given = record(tmp_path / "given", values={"method": {"code": "0"}})
    with sqlite3.connect(given / "run.db") as database:
        database.execute("UPDATE facts SET value = 'false' WHERE name = 'finished'")
    by_hand = f"(fedkin.resume({str(given)!r}, method=THE METHOD) goes on)"
    assert by_hand in fedkin("show", given).stderr


def test_a_comparison_goes_where_it_is_told(tmp_path) -> None:
    runs = [record(tmp_path / "a"), record(tmp_path / "b", method="local")]
    both = tmp_path / "x.md"
    assert "give each a file of its own" in told(
        "compare", *runs, "--markdown", both, "--html", tmp_path / "." / "x.md"
    )
    assert "--markdown and --latex both name" in told(
        "compare", *runs, "--markdown", both, "--latex", both
    )
    assert not both.exists()
    assert fedkin("compare", *runs, "--markdown", both).stdout == f"{both}\n"
    assert "| a |" in both.read_text()
    found = json.loads(fedkin("compare", *runs, "--json").stdout)
    assert len(found["runs"]) == 2


def test_a_comparison_is_written_for_a_paper(tmp_path) -> None:
    runs = [record(tmp_path / "a"), record(tmp_path / "b", method="local")]
    paper, charts = tmp_path / "runs.tex", tmp_path / "figures"
    lines = fedkin("compare", *runs, "--latex", paper, "--figures", charts).stdout.splitlines()
    assert lines[0] == str(paper)
    assert r"\toprule" in paper.read_text()
    assert {str(path) for path in charts.iterdir()} == set(lines[1:])
    kinds = {kind: (charts / f"fairness.{kind}").read_bytes() for kind in ("svg", "png", "pdf")}
    assert b"<svg" in kinds["svg"]
    assert kinds["png"].startswith(b"\x89PNG")
    assert kinds["pdf"].startswith(b"%PDF")
    page = tmp_path / "x.md"
    page.touch()
    assert str(page) in told("compare", *runs, "--latex", page)


def test_files_of_a_sweep_are_no_runs(tmp_path) -> None:
    (tmp_path / STUDY).touch()
    (tmp_path / "space.json").touch()
    runs = [record(tmp_path / "t1"), record(tmp_path / "t2")]
    result = fedkin("compare", *runs, tmp_path / STUDY, tmp_path / "space.json", "--json")
    assert result.exit_code == 0
    assert "passed over, for files of a sweep are no runs" in result.stderr
    assert len(json.loads(result.stdout)["runs"]) == 2
    assert "is not a run directory" in told("compare", tmp_path / STUDY)


def test_pages_beside_runs_are_passed_over(tmp_path) -> None:
    page = tmp_path / "digits.html"
    page.touch()
    run = record(tmp_path / "t1")
    result = fedkin("compare", page, run, "--json")
    assert [row["run"] for row in json.loads(result.stdout)["runs"]] == ["t1"]
    assert result.stderr == ""
    said = told("compare", page, page)
    assert said.startswith(f"there is nothing to compare: {page}, {page} is not a run directory")
    assert "is not a run directory: it has no run.db" in told("compare", run, run / "run.db")


def test_a_folder_of_runs_in_place_of_runs_is_told(tmp_path) -> None:
    record(tmp_path / "t1")
    said = told("compare", tmp_path)
    assert f"it has no run.db, and holds 1 run: take {tmp_path}/*" in said
    said = told("show", tmp_path)
    assert f"it has no run.db, and holds 1 run: name one of them, such as {tmp_path / 't1'}" in said
    record(tmp_path / "my runs" / "t 2")
    assert "such as '" in told("show", tmp_path / "my runs")
    assert told("compare", tmp_path / "my runs").count(f"take '{tmp_path}/my runs'/*") == 1
    (tmp_path / "empty").mkdir()
    assert "holds" not in told("compare", tmp_path / "empty")


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
