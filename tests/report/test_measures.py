"""RMSE, MAE and AUC wherever a run's numbers are told: beside other runs, on the page, for a
newcomer.
"""

import json
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.report import terminal_tables
from fedkin.report.comparison import tables
from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import write_comparison
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.database import MEASURES
from tests.cli.command import fedkin
from tests.report.comparison.compare_examples import printed
from tests.report.records_for_tests import write

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
        write(tmp_path / "z", accuracy=False, fingerprint="beef"),
    ]
    found = comparison(runs)
    assert list(found.runs["personal RMSE"])[:2] == [2.5, 3.5]  # means over clients on test
    assert np.isnan(found.runs["personal RMSE"][2])
    assert found.runs["personal AUC"].isna().all()
    text = printed(tables.compare(found), 300)
    assert "RMSE" in text
    assert "AUC" not in text
    assert "Test loss over clients" in text
    assert "3.0000 ± 0.7071" in text  # x and y, which differ in their seed
    assert "3.5000" in tables.markdown(found)
    assert (
        '<button type="button">RMSE</button>'
        in write_comparison(found, tmp_path / "page.html").read_text()
    )


def test_accuracies_stay_percentages_beside_an_auc(tmp_path: Path) -> None:
    text = printed(
        tables.compare(
            comparison(
                [with_rmse(tmp_path / "x", -0.5, "auc"), write(tmp_path / "y", fingerprint="beef")]
            )
        ),
        200,
    )
    (row,) = (line for line in text.splitlines() if line.split()[:1] == ["x"] and "2.0000" in line)
    assert "60.00" in row
    assert "–" in next(line for line in text.splitlines() if line.split()[:1] == ["y"])


def test_the_page_has_a_table_of_them(tmp_path: Path) -> None:
    text = write_report(with_rmse(tmp_path / "x")).read_text()
    table = text.split('<section id="measures">')[1].split("</section>")[0]
    assert re.findall(r">([^<>]+)</t[dh]>", table.split("<tbody>")[1])[:3] == [
        "personal",
        "RMSE",
        "2.5000",
    ]
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
    lines = {line.split()[0]: line for line in fedkin(*joining).stdout.splitlines()}
    assert lines["result"].endswith(f"test RMSE {measures['test']['rmse']:.4f}")
    assert f"test MAE {measures['test']['mae']:.4f}" in lines["also"]


AUC = {  # by round: (validation, test) of each client; client 1 has one class on test
    1: ([0.9, 0.6, 0.4], [0.5, None, 0.5]),
    2: ([0.5, 0.7, 0.8], [0.6, None, 0.9]),
    3: ([0.5, 0.5, 0.7], [0.7, None, 0.8]),
}


def with_auc(folder: Path, add: float = 0.0, **facts: object) -> Path:
    """A run that goes by AUC, which orders its rounds otherwise than accuracy does."""
    write(folder, measure="auc", why="labels are rare", **facts)  # type: ignore[arg-type]
    rows = [
        (at, k, "personal", split, "auc", None if value is None else value + add)
        for at, both in AUC.items()
        for split, values in zip(("val", "test"), both, strict=True)
        for k, value in enumerate(values)
    ]
    with sqlite3.connect(folder / "run.db") as database:
        database.execute(MEASURES)
        database.executemany("INSERT INTO measures VALUES (?, ?, ?, ?, ?, ?)", rows)
    return folder


def test_the_measure_of_the_experiment_chooses_the_round(tmp_path: Path) -> None:
    found = summary(with_auc(tmp_path / "x"))
    picks = found["headline"]["personal"]
    # weighted by 4, 4 and 8 validation samples: 0.575, 0.7 and 0.6; accuracy would choose round 1
    assert picks["best_by_validation"]["round"] == 2
    assert found["accuracy"]["personal"]["best_by_validation"]["round"] == 2
    assert picks["best_by_validation"]["mean"] == pytest.approx(0.75)
    assert (picks["final"]["mean"], picks["final"]["clients"], picks["final"]["without"]) == (
        0.75,
        2,
        1,
    )
    low, high = picks["final"]["interval"]
    # of 0.7 and 0.8 Student's t says 0.75 ± 12.7 · 0.05, and an AUC is at most 1
    assert (low, high) == pytest.approx((0.1147, 1.0), abs=1e-4)
    assert summary(write(tmp_path / "old"))["measure"] == "accuracy"
    assert summary(write(tmp_path / "older", accuracy=False))["measure"] == "loss"
    text = printed(terminal_tables.show(found))
    assert "Test AUC over clients" in text
    assert "measure: AUC (labels are rare)" in text


def test_a_lower_loss_is_the_better_round(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", measure="log_loss")
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE metrics SET loss = 0.5 WHERE round = 2 AND split = 'val'")
    assert summary(folder)["headline"]["personal"]["best_by_validation"]["round"] == 2


def test_a_frequent_class_is_said_to_mislead(tmp_path: Path) -> None:
    folder = write(tmp_path / "x")
    assert summary(folder)["warnings"] == []
    with sqlite3.connect(folder / "run.db") as database:
        database.execute("UPDATE clients SET histogram = '[1, 15]'")
    (said,) = summary(folder)["warnings"]
    assert said.startswith("accuracy misleads: 93.8 % of the training labels are of one class")
    assert said in " ".join(printed(terminal_tables.show(summary(folder))).split())
    assert f'<p class="warn">A{said[1:]}.</p>' in write_report(folder).read_text()


def test_runs_are_compared_by_the_measure_that_all_have(tmp_path: Path) -> None:
    runs = [with_auc(tmp_path / "x"), with_auc(tmp_path / "y", 0.1, method="local")]
    found = comparison(runs)
    assert found.measure == "auc"
    assert list(found.runs["personal final mean"]) == pytest.approx([0.75, 0.85])
    assert (found.runs["helped"][0], found.runs["hurt"][0]) == (0.0, 1.0)
    (row,) = found.against.to_dict("records")
    assert (row["measure"], row["clients"], row["worse"]) == ("auc", 2, 1.0)
    assert "Test AUC over clients" in printed(tables.compare(found))
    by_accuracy = comparison(runs, measure="accuracy")
    assert list(by_accuracy.runs["personal final mean"]) == pytest.approx([0.6, 0.6])
    mixed = comparison(
        [*runs, write(tmp_path / "z", seed=8)]
    )  # who has no AUC: then accuracy, which all have
    assert mixed.measure == "accuracy"
    with pytest.raises(FedkinError, match=r"unknown measure 'acu': did you mean 'auc'"):
        comparison(runs, measure="acu")
    with pytest.raises(FedkinError, match="no finished run has rmse"):
        comparison(runs, measure="rmse")


def test_less_of_an_error_helps(tmp_path: Path) -> None:
    runs = [
        with_rmse(tmp_path / "x", measure="rmse"),
        with_rmse(tmp_path / "y", 1.0, method="local", measure="rmse"),
    ]
    found = comparison(runs)
    assert (found.runs["helped"][0], found.runs["hurt"][0]) == (1.0, 0.0)
    assert found.against["better"][0] == 1.0
    assert "less is better" in printed(tables.compare(found))
