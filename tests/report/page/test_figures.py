"""Which charts a report has."""

import sqlite3
from pathlib import Path

import altair as alt
import pytest

from fedkin.report.page.report import write_report
from tests.report.page.report_examples import figures
from tests.report.records_for_tests import write


@pytest.mark.rotating
def test_the_figures_are_valid_and_complete(tmp_path: Path) -> None:
    found = figures(write_report(write(tmp_path)))
    # No histogram for three clients.
    first = ["rounds", "bytes", "clients", "data"]
    told = ["flow", "clusters", "simplex", "memberships", "membership", "components", "groups"]
    own = ["own-data", "own-score", "own-neighbours", "own-clusters"]
    assert list(found) == [*first, *told, "kinds", "seconds", *own]
    for figure in found.values():
        assert figure["spec"]["description"].startswith(figure["title"])
        alt.LayerChart.from_dict(figure["spec"], validate=True)


def test_the_figures_show_the_records(tmp_path: Path) -> None:
    found = {
        name: figure["spec"]["datasets"]["rows"]
        for name, figure in figures(write_report(write(tmp_path))).items()
    }
    finish = [row for row in found["rounds"] if row["view"] == "personal" and row["round"] == 3]
    assert finish == [{"view": "personal", "round": 3, "low": 0.5, "mean": 0.6, "high": 0.8}]
    sent = {row["round"]: row["bytes"] for row in found["bytes"]}
    assert sent == {1: 1520, 2: 3040}  # cumulative unicast bytes; the finish is not drawn there
    assert {"client": "b", "label": "one", "samples": 40, "share": 1.0} in found["data"]
    assert {"client": "a", "round": 2, "cluster": "1"} in found["clusters"]
    assert {"client": "c", "component": 1, "weight": 0.8} in found["membership"]


def test_equal_views_are_drawn_once(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute(
            "UPDATE metrics SET accuracy = accuracy + 0.1 WHERE view = 'global' AND split = 'test'"
        )
    rounds = figures(write_report(folder))["rounds"]
    assert {row["view"] for row in rounds["spec"]["datasets"]["rows"]} == {"personal"}
    assert "Personal = global" in rounds["note"]
