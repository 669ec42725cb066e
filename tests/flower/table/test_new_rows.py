"""Raw rows get the predictions that they would get once prepared."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower.node.model import exportable
from fedkin.flower.table.new_rows import predict_raw
from fedkin.flower.table.prepare import prepare
from tests.cli.command import fedkin, told
from tests.engine.small import small
from tests.flower.fleet import NAMES, Fleet
from tests.flower.table.tables import COLUMNS, raw

GIVEN = ("--columns", "columns.toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nodes whose data were prepared of raw tables, after a run; beside them the file of
    columns and a raw table.
    """
    here = tmp_path_factory.mktemp("prepared")
    fleet = Fleet(here, small("ditto", data__label="sick", run__participation=1.0), own_data=True)
    (here / "columns.toml").write_text(COLUMNS, encoding="utf-8")
    raw().to_csv(here / "raw.csv", index=False)
    for name in NAMES:
        node = fleet.folder / "nodes" / name
        (node / "data.npz").unlink(missing_ok=True)
        prepare(node, here / "raw.csv", here / "columns.toml")
        fleet.nodes[name].__init__(node)  # type: ignore[misc]
    fleet.run()
    (here / "node").symlink_to(fleet.folder / "nodes" / "c1")
    return here


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def answers(*asked: object) -> tuple[pd.DataFrame, str]:
    """Predictions, and what was noted."""
    done = fedkin("deploy", "predict", "node", *asked, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    return pd.DataFrame(found["predictions"]), "; ".join(found["said"])


def test_they_are_those_of_the_prepared_rows(tmp_path: Path) -> None:
    prepared, _ = answers("--data", "node/data.csv")
    found, said = answers("--data", "raw.csv", *GIVEN)
    assert found["p(readmitted)"].tolist() == prepared["p(1)"].tolist()
    assert set(found["prediction"]) <= {"home", "readmitted"}
    right = (found["prediction"] == raw()["outcome"]).mean()
    assert f"accuracy against the labels in the file: {100 * right:.2f} % of 80" in said
    assert "gaps are filled, in so many rows: age (2), ward (20), smoker (20)" in said
    assert "column 'ward': 20 rows have words that the file of columns does not: 'eye'" in said
    halved = raw().assign(bmi=raw()["bmi"] / 2).drop(columns=["outcome", "patient"])
    halved.to_csv(tmp_path / "new.csv", index=False, sep=";")
    again, said = answers(
        "--data", tmp_path / "new.csv", *GIVEN, "--separator", ";", "--times", "bmi=2"
    )
    assert again["p(home)"].tolist() == found["p(home)"].tolist()
    assert "accuracy" not in said


def test_another_file_of_columns_is_refused(tmp_path: Path) -> None:
    other = COLUMNS.replace('values = ["heart", "lung"]', 'values = ["heart"]')
    (tmp_path / "c.toml").write_text(other, encoding="utf-8")
    sentence = told(
        "deploy", "predict", "node", "--data", "raw.csv", "--columns", tmp_path / "c.toml"
    )
    assert "makes no input 'ward = lung'" in sentence
    assert sentence.endswith("give the file that the node's data were prepared with")


def test_raw_rows_without_the_file_of_columns(tmp_path: Path) -> None:
    sentence = told("deploy", "predict", "node", "--data", "raw.csv")
    assert "lacks the column 'age is missing' and 6 more, which the run was" in sentence
    assert sentence.endswith("; of raw rows, give --columns, too")
    assert "--columns" not in told("deploy", "predict", "node", "--data", tmp_path / "no.csv")


@pytest.mark.parametrize("classes", [0, 3])
def test_the_model_has_no_more_classes_than_the_file(classes: int, folder: Path) -> None:
    model = exportable(folder / "node")
    more = model._replace(population=replace(model.population, classes=classes))
    with pytest.raises(FedkinError, match=f"has 2 classes, and the model {classes}: give the fil"):
        predict_raw(more, folder / "raw.csv", folder / "columns.toml")


def test_a_class_that_no_node_had_is_never_predicted(tmp_path: Path) -> None:
    more = COLUMNS.replace('["home", "readmitted"]', '["home", "readmitted", "dead"]')
    (tmp_path / "c.toml").write_text(more, encoding="utf-8")
    expected, _ = answers("--data", "raw.csv", *GIVEN)
    found, said = answers("--data", "raw.csv", "--columns", tmp_path / "c.toml")
    assert found.equals(expected)
    assert "no node of the run had a row of class 'dead': it is never predicted" in said
