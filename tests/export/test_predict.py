"""Eleven classes: as text they stand otherwise (0, 1, 10, 2) than as numbers."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fedkin.data.tables.table import labels_of
from fedkin.export.predict import predict
from fedkin.runs.spec import DataSection
from tests import awkward


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
