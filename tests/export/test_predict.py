"""Eleven classes: as text they stand otherwise (0, 1, 10, 2) than as numbers."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.data.tables.encoding import Encoding, Number
from fedkin.data.tables.table import labels_of
from fedkin.export.predict import (
    _of_samples,
    _table,
    predict,
    prediction_table,
)
from fedkin.runs.spec import DataSection
from tests import awkward
from tests.cli.command import fedkin, told
from tests.export.clinics import run_of_clinics


def test_columns_that_say_whose_row_it_is_are_kept_as_they_are_written(tmp_path: Path) -> None:
    table, run = run_of_clinics(tmp_path, 20)
    new = pd.read_csv(table).drop(columns=["hospital", "outcome"]).head(3)
    new.insert(0, "patient", ["007", "010", None])
    new.to_csv(tmp_path / "new.csv", index=False)
    asked = ("predict", run, "--client", "H01", "--data", tmp_path / "new.csv")
    plain = fedkin(*asked).stdout.splitlines()
    feature = str(new.columns[1])
    kept = fedkin(*asked, "--keep", "patient", "--keep", feature)
    lines = kept.stdout.splitlines()
    assert lines[0] == f"patient,{feature},{plain[0]}"
    for number, name in enumerate(["007", "010", ""], start=1):
        assert lines[number].startswith(f"{name},")
        assert lines[number].endswith(plain[number])
    assert "does not use" not in kept.stderr
    as_json = json.loads(fedkin(*asked, "--keep", "patient", "--json").stdout)
    assert [row["patient"] for row in as_json["predictions"]] == ["007", "010", None]
    assert "unknown column 'patiend': did you mean 'patient'" in told(*asked, "--keep", "patiend")
    renamed = new.rename(columns={"patient": "prediction"})
    renamed.to_csv(tmp_path / "new.csv", index=False)
    assert "a column of predictions is called so" in told(*asked, "--keep", "prediction")


@pytest.mark.parametrize("names", [(), awkward.CLASS_NAMES])
def test_a_prediction_has_the_name_of_its_class(names: tuple[str, ...], tmp_path: Path) -> None:
    likely = [10, 2, 9, 0, 1]
    chances = torch.full((len(likely), awkward.CLASSES), 0.02)
    chances[torch.arange(len(likely)), likely] = 0.8
    people = replace(awkward.population(), class_names=names)
    exportable: Any = SimpleNamespace(
        population=people, data=DataSection(), personal=lambda x: chances.log()
    )
    np.savez(tmp_path / "x.npz", x=np.zeros((len(likely), 5), dtype=np.float32))
    found, _ = predict(exportable, tmp_path / "x.npz")
    assert list(found) == ["prediction", *(f"p({c})" for c in range(awkward.CLASSES))]
    assert found["prediction"].tolist() == [str(c) for c in likely]
    for row, c in enumerate(likely):
        assert found[f"p({c})"][row] == pytest.approx(0.8)


def test_whole_numbers_are_classes_in_their_order() -> None:
    column = pd.Series([10, 2, 0, 1, 9, 10])
    numbers, names = labels_of(column, "auto", lambda row: f"row {row}")
    assert names == ("0", "1", "2", "9", "10")
    assert numbers.tolist() == [4, 2, 0, 1, 3, 4]


def test_a_file_a_table_and_samples_get_the_same_answers(tmp_path: Path) -> None:
    """Of more samples than go through the model at a time: 1,024 and some."""
    table, run = run_of_clinics(tmp_path, 600)
    result = Result(run)
    asked = pd.read_csv(table).drop(columns="hospital").iloc[::-1]  # 1,200 rows, another order
    asked.to_csv(tmp_path / "x.csv", index=False)
    of_file = result.predict(1, tmp_path / "x.csv")
    pd.testing.assert_frame_equal(result.predict(1, asked), of_file)
    x = result._population.x
    of_samples = result.predict("H01", x.numpy())
    assert len(of_samples) == len(x) == len(of_file) == 1200
    chances = result.personal(1)(x).exp().detach().numpy()
    np.testing.assert_allclose(of_samples[["p(home)", "p(readmitted)"]], chances, atol=1e-6)
    with pytest.raises(FedkinError, match=r"x is a dict: give a file, a DataFrame, or samples"):
        result.predict(1, {"age": 3})
    with pytest.raises(FedkinError, match=r"x has shape \[1200, 2\]: the model takes \[rows, "):
        result.predict(1, x.numpy()[:, :2])


def test_numbers_are_answered_as_they_are() -> None:
    people = replace(awkward.population(), task="regression")
    found = prediction_table(np.array([[0.5], [-2.0]]), people)
    assert found.to_dict("list") == {"prediction": [0.5, -2.0]}


def test_labels_are_read_as_the_names_of_the_classes_are_written(tmp_path: Path) -> None:
    """ "007" is a class beside "other"; a later file may hold such labels alone."""
    table = tmp_path / "t.csv"
    table.write_text("a,label\n1,007\n2,007\n", encoding="utf-8")
    encoding = Encoding((Number("a", fill=0, mean=0, std=1, flag=False),))
    assert _table(table, encoding, ("007", "other"), DataSection()).labels == ["007", "007"]
    assert _table(table, encoding, ("7", "8"), DataSection()).labels == ["7", "7"]


def test_a_model_that_diverged_answers_with_no_class() -> None:
    people = awkward.population()
    found = np.full((2, people.classes), np.log(0.1))
    found[0, 1], found[1] = 0.0, np.nan
    first, second = prediction_table(found, people)["prediction"]
    assert first == list(people.class_names or map(str, range(people.classes)))[1]
    assert pd.isna(second)


def arrays_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Any:
    """A model of arrays of this shape; it says the first number of each as a log-probability."""
    people = replace(awkward.population(), x=torch.zeros(2, *shape, dtype=dtype), classes=2)
    people = replace(people, class_names=())
    return SimpleNamespace(
        client=None,
        population=people,
        data=DataSection(),
        personal=lambda x: torch.stack([x.flatten(1)[:, 0].double(), -x.flatten(1)[:, 1]], 1),
    )


@pytest.mark.parametrize("shape", [(2,), (3, 4), (1, 2, 5)])
def test_samples_have_the_shape_that_the_model_takes(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    one = arrays_of(shape)
    x = np.zeros((1, *shape), dtype=np.float32)
    x.flat[:2] = -0.5, 0.25
    assert _of_samples(one, x)["p(0)"].tolist() == pytest.approx([np.exp(-0.5)])
    wrong: list[Any] = [x[:0], x[0], np.zeros((2, *shape[:-1], 7)), np.zeros((2, 9, *shape))]
    if len(shape) > 1:
        wrong.append(np.zeros((2, 8, *shape[1:])))
    for other in (*wrong, np.float32(3)):
        with pytest.raises(FedkinError, match="the model takes"):
            _of_samples(one, other)


def test_a_file_of_arrays_is_read_as_the_training_data_were(tmp_path: Path) -> None:
    one = arrays_of((2, 3))
    for name, x in (
        ("shape", np.zeros((4, 3, 3), dtype=np.float32)),
        ("last", np.zeros((4, 2, 5), dtype=np.float32)),
        ("type", np.zeros((4, 2, 3), dtype=np.uint8)),
    ):
        np.savez(tmp_path / f"{name}.npz", x=x)
        with pytest.raises(FedkinError, match=r"the model takes float32 \[2, 3\]"):
            predict(one, tmp_path / f"{name}.npz")
    np.savez(tmp_path / "y.npz", y=np.zeros(3), z=np.zeros(3))
    with pytest.raises(FedkinError, match="lacks x: it has y, z"):
        predict(one, tmp_path / "y.npz")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FedkinError, match=r"takes arrays: save them with numpy\.savez"):
        predict(one, tmp_path / "x.csv")
    np.savez(tmp_path / "x.npz", x=np.full((4, 2, 3), -1.0, dtype=np.float32))
    found, said = predict(one, tmp_path / "x.npz")
    assert (len(found), said) == (4, ())


def trained(tmp_path: Path, table: Path, *settings: str) -> Result:
    """One round on a table with columns ``site`` and ``label``."""
    few = ["--engine", "inprocess", "--rounds", "1", "--set", "train.steps=2", *settings]
    given = ["--data", f"{table}:client=site", "--method", "local", "--out", tmp_path / "run"]
    done = fedkin("run", *few, *given)
    assert done.exit_code == 0, done.output
    return Result(tmp_path / "run")


def test_a_frame_is_not_read_as_the_runs_files_are_written(tmp_path: Path) -> None:
    rows = [(f"A{at % 2}", at * 0.5, "grün" if at % 3 else "weiß", at % 2) for at in range(60)]
    frame = pd.DataFrame(rows, columns=["site", "x", "farbe", "label"])
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")
    settings = ("separator=';'", "decimal=','", "encoding=latin-1")
    result = trained(tmp_path, path, *(w for one in settings for w in ("--set", f"data.{one}")))
    of_file = result.predict(0, path)
    pd.testing.assert_frame_equal(result.predict(0, frame), of_file)
    assert result.predict(0, frame).attrs["said"] == of_file.attrs["said"]


def test_messages_name_rows_of_a_frame_and_no_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"site": ["A", "B"] * 20, "x": range(40), "label": [0, 0, 1, 1] * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = trained(tmp_path, tmp_path / "t.csv")
    wrong = frame.astype({"x": object})
    wrong.loc[7, "x"] = "many"
    for asked, said in [
        (wrong, "row 7 of the DataFrame: column 'x' holds 'many', but"),
        (frame[["label"]], "the DataFrame lacks the column 'x', which the run was trained with"),
        (frame[["x", "x"]], "data: column 'x' appears twice"),
    ]:
        with pytest.raises(FedkinError) as error:
            result.predict(0, asked)
        assert str(error.value).startswith(said)
    far = frame.assign(x=frame["x"].where(frame.index != 3, 1e6))
    said, *_ = result.predict(0, far.drop(columns="site")).attrs["said"]
    assert "row 3 of the DataFrame" in said


def test_a_frame_is_no_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.ones((60, 2)), y=np.arange(60) % 2)
    few = ["--engine", "inprocess", "--rounds", "1", "--clients", "2", "--method", "local"]
    done = fedkin("run", *few, "--data", tmp_path / "d.npz", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    with pytest.raises(FedkinError, match=r"x is a DataFrame, and .* arrays: give x \[rows, 2\]"):
        Result(tmp_path / "run").predict(0, pd.DataFrame({"a": [1.0], "b": [2.0]}))
