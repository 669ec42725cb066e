"""Eleven classes: as text they stand otherwise (0, 1, 10, 2) than as numbers."""

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
from fedkin.data.tables.table import labels_of
from fedkin.export.predict import predict
from fedkin.runs.spec import DataSection
from tests import awkward
from tests.cli.command import fedkin
from tests.export.clinics import write_clinics


@pytest.mark.parametrize("names", [(), awkward.CLASS_NAMES])
def test_a_prediction_has_the_name_of_its_class(names: tuple[str, ...], tmp_path: Path) -> None:
    likely = [10, 2, 9, 0, 1]
    chances = torch.full((len(likely), awkward.CLASSES), 0.02)
    chances[torch.arange(len(likely)), likely] = 0.8
    people = replace(awkward.population(), class_names=names)
    handed: Any = SimpleNamespace(
        population=people, data=DataSection(), personal=lambda x: chances.log()
    )
    np.savez(tmp_path / "x.npz", x=np.zeros((len(likely), 5), dtype=np.float32))
    found, _ = predict(handed, tmp_path / "x.npz")
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
    table = write_clinics(tmp_path / "patients.csv", clinics=2, patients=600)
    given = f"{table}:client=hospital,label=outcome"
    few = ["--engine", "inprocess", "--rounds", "1", "--set", "train.steps=2"]
    done = fedkin("run", *few, "--data", given, "--method", "local", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    result = Result(tmp_path / "run")
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
