"""Columns of lists and structs end in one sentence, with the key that leaves them out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.quality.problem import Unreadable
from fedkin.data.sources import load
from fedkin.data.tables.encoding import Encoding, Number
from fedkin.data.tables.new_rows import read_later
from fedkin.data.tables.table import labels_of

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": [0, 1, 0]})
LISTS: list[Any] = [None, [1.0, 2.0], [3.0]]
STRUCTS: list[Any] = [{"k": 1}, None, {"k": 2}]


def saved(tmp_path: Path, **columns: Any) -> str:
    pytest.importorskip("pyarrow")
    FRAME.assign(**columns).to_parquet(tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


@pytest.mark.parametrize(("cells", "what"), [(LISTS, "lists"), (STRUCTS, "structs")])
@pytest.mark.parametrize("options", [{}, {"duplicates": "drop"}, {"missing": [-1]}])
def test_they_are_left_out_or_refused(
    cells: list[Any], what: str, options: dict[str, Any], tmp_path: Path
) -> None:
    path = saved(tmp_path, e=cells, f=cells)
    with pytest.raises(
        Unreadable, match=rf"row 0: column 'e' holds {what}: .*drop=\[\"e\"\]'"
    ) as e:
        load(path, **options)
    assert [one.fix for one in e.value.problems] == [{"data.drop": ["e"]}, {"data.drop": ["f"]}]
    assert load(path, drop=["e", "f"], **options).x.shape == (3, 1)


@pytest.mark.parametrize("role", ["label", "client", "group"])
def test_what_they_cannot_be(role: str, tmp_path: Path) -> None:
    path = saved(tmp_path, e=LISTS)
    with pytest.raises(FedkinError, match=r"column 'e' holds lists, and a label, a client or a gr"):
        load(path, **{role: "e"})


def test_later_rows_have_none_either(tmp_path: Path) -> None:
    path = Path(saved(tmp_path, a=[np.ones(2)] * 3))
    encoding = Encoding((Number("a", 0, 0, 1, flag=False),))
    with pytest.raises(FedkinError, match="row 0: column 'a' holds lists, and training had one"):
        read_later(path, encoding, {"missing": [-1]}, ())
    with pytest.raises(FedkinError, match="row 0: column 'y' holds structs: a label is one value"):
        labels_of(pd.Series(STRUCTS, name="y"), "auto", lambda row: f"row {row}")
