"""The table of all clients of a comparison."""

import re
import sqlite3
from pathlib import Path

from fedkin.report.comparison.client_scores import client_scores
from fedkin.report.comparison.compare import comparison
from tests.report.records_for_tests import write


def test_a_row_a_client_and_a_column_a_run(tmp_path: Path) -> None:
    local, comet = write(tmp_path / "local", method="local"), write(tmp_path / "comet")
    with sqlite3.connect(comet / "run.db") as database:
        database.execute(
            "UPDATE metrics SET accuracy = accuracy + 0.1 WHERE client = 1 AND split = 'test'"
        )
    text = client_scores(comparison([comet, local]).seen, "local")
    heads = re.findall(r'<th scope="col".*?<button type="button">(.*?)</button>', text)
    assert heads == ["client", "local", "comet"]  # the baseline first
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', text)
    assert [name for name, _ in rows] == ["a", "b", "c"]
    assert re.findall(r">([\d.]+ %)<", rows[1][1]) == ["50.00 %", "60.00 %"]
    assert 'class="beside"' in text


def test_one_run_has_no_table(tmp_path: Path) -> None:
    assert client_scores(comparison([write(tmp_path / "comet")]).seen, "local") == ""
