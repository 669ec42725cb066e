"""What of a raw table cannot become inputs."""

from pathlib import Path

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.table import inputs
from fedkin.flower.table.prepare import prepare
from tests.flower.table.tables import node, prepared, raw


def test_a_table_that_there_is_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = node(tmp_path)
    raw().to_parquet(folder / "raw.parquet")
    monkeypatch.setattr(inputs, "room", lambda: 1000)
    with pytest.raises(FedkinError, match="80 rows, of 9 inputs each: more than the 1,000 bytes"):
        prepare(folder, folder / "raw.parquet", folder / "columns.toml")


@pytest.mark.parametrize(
    ("times", "said"),
    [({"ward": 2.0}, "'ward' is no column of numbers"), ({"bmi": 1e38}, "too large for float32")],
)
def test_units_that_cannot_be(times: dict[str, float], said: str, tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match=said):
        prepared(node(tmp_path), raw(), times=times)


@pytest.mark.parametrize(
    ("column", "cells", "said"),
    [
        ("bmi", [[1.0, 2.0]] * 80, "column 'bmi' holds lists: make a column of each of their va"),
        ("ward", [["heart"]] * 80, "column 'ward' holds lists: make a column of each of their v"),
        ("outcome", [["home"]] * 80, "column 'outcome' holds lists, and a label, a client or a "),
        ("patient", [["P1"]] * 80, "column 'patient' holds lists, and a label, a client or a gro"),
        ("bmi", [float("inf")] * 80, "column 'bmi' is infinite or too large for float32: correct"),
        ("ward", [pd.Timestamp("2020-01-01")] * 80, "column 'ward' holds dates: turn them into n"),
        ("ward", [pd.Timedelta(1, "h")] * 80, "column 'ward' holds durations: write them as num"),
    ],
)
def test_cells_that_are_none(column: str, cells: list[object], said: str, tmp_path: Path) -> None:
    folder = node(tmp_path)
    raw().assign(**{column: cells}).to_parquet(folder / "raw.parquet")
    with pytest.raises(FedkinError, match=f"row 0: {said}") as told:
        prepare(folder, folder / "raw.parquet", folder / "columns.toml")
    assert "--set" not in str(told.value), "which is an option of other commands"
