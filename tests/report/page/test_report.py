"""report.html: one file, nothing fetched, well-behaved from nothing to two thousand clients."""

import math
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report.matrix import Matrix, matched
from fedkin.report.page.report import write_report
from tests.report.page.report_examples import figures, parsed
from tests.report.records_for_tests import write, write_large


def test_clusters_keep_their_number_where_the_method_permutes_them() -> None:
    nan = math.nan
    values = np.array([[0, 0, 1, 1, 2], [2, 2, 0, 0, 1], [nan, 1, 0, 0, 2]])
    kept = matched(Matrix([1, 2, 3], [0, 1, 2, 3, 4], values)).values
    np.testing.assert_array_equal(kept, [[1, 1, 0, 0, 2], [1, 1, 0, 0, 2], [nan, 1, 0, 0, 2]])


def test_clusters_that_split_have_numbers_of_their_own() -> None:
    values = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 2.0, 0.0]])
    kept = matched(Matrix([1, 2], [0, 1, 2, 3], values)).values
    np.testing.assert_array_equal(kept, [[1, 1, 1, 0], [1, 1, 2, 0]])


def test_the_head_has_no_folders_and_the_whole_split(tmp_path: Path) -> None:
    text = write_report(write(tmp_path, data="/home/someone/tables/mine.csv")).read_text(
        encoding="utf-8"
    )
    assert "<title>comet on mine.csv</title>" in text
    assert "split dirichlet alpha=0.3 over=clients floor=10" in text


def test_key_numbers_and_state_are_in_the_text(tmp_path: Path) -> None:
    text = parsed(write_report(write(tmp_path / "whole"))).text
    assert "68.00 %" in text
    assert re.search(r"final test accuracy\s*60\.00 %", text)
    assert "NOT finished" not in text
    assert "flatters" in text
    text = parsed(write_report(write(tmp_path / "half", finished=False, until=1))).text
    assert "NOT finished" in text


@pytest.mark.rotating
@pytest.mark.parametrize(
    "options",
    [{"accuracy": False}, {"finished": False, "until": 0}, {"finished": False, "until": 1}],
)
def test_every_kind_of_run_has_a_report(tmp_path: Path, options: dict[str, Any]) -> None:
    for figure in figures(write_report(write(tmp_path, **options))).values():
        alt.LayerChart.from_dict(figure["spec"], validate=True)


def test_a_report_from_next_to_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with sqlite3.connect(folder / "run.db") as connection:
        connection.execute("DELETE FROM facts WHERE name != 'version'")
        connection.execute("DELETE FROM clients")
    assert write_report(folder).is_file()


def test_one_client_one_round(tmp_path: Path) -> None:
    found = figures(write_report(write_large(tmp_path, 1, 1)))
    assert "bytes" not in found
    assert len(found["rounds"]["spec"]["datasets"]["rows"]) == 1  # both views are equal


@pytest.mark.rotating
def test_large_runs_stay_small(tmp_path: Path) -> None:
    folder = write_large(tmp_path, 2000, 5)
    began = time.process_time()  # the clock also tells what others do
    path = write_report(folder)
    assert time.process_time() - began < 20
    assert path.stat().st_size < 10e6
    found = figures(path)
    assert len(found["clusters"]["spec"]["datasets"]["rows"]) == 60 * 5
    assert "60 of 2000 clients are shown" in found["clusters"]["note"]
    assert "200 of 2000 clients are shown" in found["data"]["note"]


def test_a_failure_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path)
    (folder / "report.html").write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(FedkinError, match="No space left"):
        write_report(folder)
    assert (folder / "report.html").read_text() == "old"
    assert not list(folder.glob("*.part"))


def test_no_run_no_report(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="not a run directory"):
        write_report(tmp_path)
