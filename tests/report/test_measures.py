"""RMSE, MAE and AUC wherever a run's numbers are told: beside other runs, on the page, for a
newcomer.
"""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from fedkin.report.comparison import tables as sheets
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import write_comparison
from fedkin.report.page.report import write_report
from fedkin.runs.database import MEASURES
from tests.cli.command import fedkin
from tests.report.records_for_tests import write
from tests.report.test_compare import printed

RMSE = {"train": [9.0] * 3, "val": [7.0] * 3, "test": [1.0, 2.5, 4.0]}


def with_rmse(folder: Path, add: float = 0.0, name: str = "rmse", **facts: object) -> Path:
    """A regression (or, for "auc", a run with accuracies) whose last row has a measure of every
    client.
    """
    write(folder, accuracy=name == "auc", **facts)  # type: ignore[arg-type]
    rows = [
        (3, k, "personal", split, name, value + add)
        for split, values in RMSE.items()
        for k, value in enumerate(values)
    ]
    with sqlite3.connect(folder / "run.db") as database:
        database.execute(MEASURES)
        database.executemany("INSERT INTO measures VALUES (?, ?, ?, ?, ?, ?)", rows)
    return folder


def test_compare_has_them_in_its_tables(tmp_path: Path) -> None:
    runs = [
        with_rmse(tmp_path / "x"),
        with_rmse(tmp_path / "y", 1.0, seed=8),
        write(tmp_path / "z", accuracy=False),
    ]
    found = comparison(runs)
    assert list(found.runs["personal RMSE"])[:2] == [2.5, 3.5]  # means over clients on test
    assert np.isnan(found.runs["personal RMSE"][2])
    assert found.runs["personal AUC"].isna().all()
    text = printed(sheets.compare(found), 200)
    assert "personal RMSE" in text
    assert "AUC" not in text
    assert "Test loss and errors" in text
    assert "3.0000 ± 0.7071" in text  # x and y, which differ in their seed
    assert "3.5000" in sheets.markdown(found)
    assert "personal RMSE" in write_comparison(found, tmp_path / "page.html").read_text()


def test_accuracies_stay_percentages_beside_an_auc(tmp_path: Path) -> None:
    text = printed(
        sheets.compare(comparison([with_rmse(tmp_path / "x", -0.5, "auc"), write(tmp_path / "y")])),
        200,
    )
    (row,) = (line for line in text.splitlines() if line.split()[:1] == ["x"] and "2.0000" in line)
    assert "60.00" in row
    assert "–" in next(line for line in text.splitlines() if line.split()[:1] == ["y"])


def test_the_page_has_a_table_of_them_and_key_numbers(tmp_path: Path) -> None:
    text = write_report(with_rmse(tmp_path / "x")).read_text()
    table = text.split('<section id="measures">')[1].split("</section>")[0]
    cells = [cell.split("<")[0] for cell in table.split("<td")[1:]]
    assert [cell.split(">", 1)[1] for cell in cells][:3] == ["personal", "RMSE", "2.5000"]
    assert "<dt>personal: RMSE, mean over clients</dt><dd>2.5000</dd>" in text
    assert 'id="measures"' not in write_report(write(tmp_path / "y")).read_text()


def test_a_newcomer_is_told_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    head, rows = "site,u,v,label", rng.normal(size=(5, 30, 2))
    lines = [
        f"s{k},{u:.4f},{v:.4f},{u - 2 * v:.4f}" for k, site in enumerate(rows) for u, v in site
    ]
    (tmp_path / "all.csv").write_text("\n".join([head, *lines[:120]]))
    (tmp_path / "mine.csv").write_text("\n".join([head, *lines[120:]]))
    options = ["--data", f"{tmp_path / 'all.csv'}:client=site", "--method", "fedavg", "--rounds", 2]
    done = fedkin("run", *options, "--engine", "inprocess", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    joining = [
        "join",
        tmp_path / "run",
        "--data",
        tmp_path / "mine.csv",
        "--rounds",
        1,
        "--out",
        tmp_path / "me",
    ]
    found = fedkin(*joining, "--json")
    assert found.exit_code == 0, found.output
    measures = json.loads(found.stdout)["measures"]["personal"]
    assert set(measures) == {"val", "test"}
    loss = json.loads(found.stdout)["scores"]["personal"]["test"]["loss"]
    assert measures["test"]["rmse"] == pytest.approx(
        (2 * loss) ** 0.5, rel=1e-5
    )  # the loss is half a squared error
    line = next(line for line in fedkin(*joining).stdout.splitlines() if line.startswith("also"))
    assert f"test RMSE {measures['test']['rmse']:.4f}, MAE {measures['test']['mae']:.4f}" in line
