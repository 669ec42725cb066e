"""``fedkin compare``: what it takes for runs, and where it writes."""

import json

from fedkin.runs.output_files import STUDY
from tests.awkward import record
from tests.cli.command import fedkin, told


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
    runs = [record(tmp_path / "t1"), record(tmp_path / "t2", seed=8)]
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
