"""Columns of a Parquet file that pandas has no type for."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("index", [["site"], ["site", "age"], ["age", None]])
def test_a_column_that_pandas_took_for_its_index_is_not_dropped(
    index: list[str | None], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    columns = {"site": [2, 1, 1], "age": [50.0, 60.0, 70.0], "label": [0, 1, 0]}
    whole = pd.DataFrame(columns)
    rows = [whole[name] if name else pd.Series([7, 8, 9], name=None) for name in index]
    indexed = whole.drop(columns=[name for name in index if name]).set_index(rows)
    indexed.to_parquet(tmp_path / "t.parquet")
    frame = read_parquet(tmp_path / "t.parquet")
    assert {name: frame[name].tolist() for name in frame.columns} == columns
    whole.set_index("site", drop=False).to_parquet(tmp_path / "t.parquet")
    assert list(read_parquet(tmp_path / "t.parquet").columns) == list(columns)
