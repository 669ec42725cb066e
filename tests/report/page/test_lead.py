"""What a report begins with: the gain on training alone, and what to do next."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fedkin.report.charts.by_client import by_client
from fedkin.report.collaboration import Groups
from fedkin.report.matrix import measured
from fedkin.report.page.client_table import MOST, client_table
from fedkin.report.page.clinical import clinical
from fedkin.report.page.gain import gain_of
from fedkin.report.page.lead import sentence
from fedkin.report.page.next_steps import next_steps
from fedkin.report.page.report import write_report
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.report.records_for_tests import write, write_large

LAST = 3  # the finish


def change(folder: Path, client: int, by: float) -> Path:
    with sqlite3.connect(folder / "run.db") as database:
        database.execute(
            "UPDATE metrics SET accuracy = accuracy + ? WHERE client = ? AND round = ?",
            (by, client, LAST),
        )
    return folder


def beside(folder: Path, **facts: Any) -> Path:
    """comet with 0.5, 0.5, 0.8 beside local with 0.2, 0.6, 0.8."""
    local = write(folder / "local", **{"method": "local", **facts})
    change(change(local, 0, -0.3), 1, 0.1)
    return write(folder / "comet")


def test_the_gain_is_that_of_each_client_on_local_beside_it(tmp_path: Path) -> None:
    with opened(beside(tmp_path)) as run:
        found = of_run(run)
        gain = gain_of(run, found)
        assert gain is not None
        assert gain.by_client == {0: 0.3, 1: -0.1, 2: 0.0}
        assert (gain.helped, gain.hurt) == ([0], [1])
        assert gain.mean == pytest.approx(0.2 / 3)
        assert not gain.sure
        assert sentence(found, gain) == (
            "With comet, 1 of 3 clients does better than with local training alone and 1 does "
            "worse: test accuracy rises by 6.67 points on average, which may be chance (95 % "
            "interval of the gain −10.00 … +30.00 points)."
        )


@pytest.mark.parametrize(
    "facts",
    [{"method": "fedavg"}, {"seed": 8}, {"data_digest": "other"}, {"finished": False}],
)
def test_another_run_is_no_baseline(tmp_path: Path, facts: dict[str, Any]) -> None:
    with opened(beside(tmp_path, **facts)) as run:
        assert gain_of(run, of_run(run)) is None


def test_a_damaged_neighbour_is_passed_over(tmp_path: Path) -> None:
    folder = beside(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.db").write_text("nothing")
    with opened(folder) as run:
        gain = gain_of(run, of_run(run))
        assert gain is not None
        assert gain.run == str(tmp_path / "local")


def test_where_less_is_better_a_fall_is_a_gain(tmp_path: Path) -> None:
    facts = {"baselines": {"linear": {"0": 1.5, "1": 1.5, "2": 3.5}}, "measure": "log_loss"}
    with opened(write(tmp_path / "x", **facts)) as run:
        found = of_run(run)
        gain = gain_of(run, found)
        assert gain is not None
        assert gain.by_client == {0: 0.5, 1: -0.5, 2: 0.5}
        assert "test log-loss falls by 0.1667 on average" in sentence(found, gain)
        assert "linear models of their own" in sentence(found, gain)


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


def test_a_page_that_is_passed_on_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    text = write_report(beside(tmp_path)).read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert "fedkin compare local comet" in text


def test_the_baseline_and_the_intervals_are_drawn(tmp_path: Path) -> None:
    with opened(beside(tmp_path)) as run:
        what, matrices = measured(run, of_run(run))
        drawn = by_client(matrices, what, run.clients, {"alone": {0: 0.2, 9: 0.1}})
    rows = drawn.spec["datasets"]["rows"]
    assert [(r["client"], r["value"]) for r in rows if r["view"] == "alone"] == [("a", 0.2)]
    (one,) = (r for r in rows if (r["client"], r["view"]) == ("b", "personal"))
    assert (one["low"], one["high"]) == (0.33154, 0.66846)  # Wilson, 15 of 30


def test_a_clinician_reads_sentences() -> None:
    of = {"mean": 0.9, "worst_decile": 0.5, "clients": 4}
    measures = {"sensitivity": of, "specificity": {**of, "mean": 0.75}, "ece": {**of, "mean": 0.2}}
    text = clinical({"measures": {"personal": measures}})
    assert "of 100 cases of the second class 90 are found and 10 missed" in text
    assert "25 raise a false alarm" in text
    assert "not to be read literally" in text
    assert clinical({"measures": {"personal": {"auc": of}}}) == ""


def test_of_very_many_clients_a_sample_is_listed(tmp_path: Path) -> None:
    with opened(write_large(tmp_path / "x", MOST + 7, 1)) as run:
        found = of_run(run)
        text = client_table(run, found, *measured(run, found))
    assert text.count("<tr data-client") == MOST
    assert f"{MOST:,} of {MOST + 7:,} clients are shown" in text
