"""Columns of a Parquet file that pandas has no type for."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from fedkin.data.formats.columnar import read_arrow, read_parquet
from fedkin.data.sources import load


def test_decimals_are_numbers(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    price = [Decimal("1.50"), Decimal("2.25"), Decimal("-7.00")]
    table = arrow.table(
        {
            "a": arrow.array([Decimal("0.5"), None, Decimal("3.25")]),
            "site": arrow.array([Decimal(10), Decimal(9), Decimal(9)], arrow.decimal128(9, 0)),
            "long": arrow.array([Decimal(10**29), Decimal(1), None], arrow.decimal128(38, 0)),
            "label": arrow.array(price),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, str(tmp_path / "t.arrow"))
    for frame in (read_parquet(tmp_path / "t.parquet"), read_arrow(tmp_path / "t.arrow")):
        assert [str(kind) for kind in frame.dtypes] == ["float64", "int64", "float64", "float64"]
    source = load(str(tmp_path / "t.parquet"), client="site")
    assert source.task == "regression"
    assert source.y.tolist() == [1.5, 2.25, -7]
    assert source.x[:, 1].tolist()[:2] == [1e29, 1]
    assert np.isnan(source.x[1, 0])
    assert source.client is not None
    assert source.client.tolist() == [10, 9, 9]
