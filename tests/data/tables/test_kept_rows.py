"""Some of a table's rows."""

import numpy as np
import pandas as pd

from fedkin.data.formats.frames import Read
from fedkin.data.tables.kept_rows import only


def test_a_row_keeps_its_place_and_its_part() -> None:
    frame = pd.DataFrame({"age": [1, 2, 3, 4]})
    test = np.array([False, False, True, True])
    read = Read(frame, lambda row: f"line {row + 2}", ("said",), ("age",), test)
    found = only(read, np.array([1, 3]), "two are gone")
    assert found.frame["age"].tolist() == [2, 4]
    assert [found.place(0), found.place(1)] == ["line 3", "line 5"]
    assert found.said == ("said", "two are gone")
    assert found.added == ("age",)
    assert found.test is not None
    assert found.test.tolist() == [False, True]
    assert only(read._replace(test=None), np.array([0]), "").test is None
