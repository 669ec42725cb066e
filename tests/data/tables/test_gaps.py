"""Cells that hold nothing."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from tests.data.tables.table_examples import write

GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def test_missing_cells_are_nan_until_they_are_encoded(tmp_path: Path) -> None:
    for cell in ("", "NA", "nan", "?", " null "):
        x = load(write(tmp_path, GOOD.replace("40,1", f"40,{cell}")), client="site").x
        assert np.isnan(x).tolist() == [[False, False], [False, True], [False, False]], cell


def test_rows_without_a_label_are_refused_or_counted(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("40,1,well", "40,1,") + "5,6,well,b\n")
    with pytest.raises(FedkinError, match=r"line 3: column 'label' is empty.*data\.unlabeled=drop"):
        load(path, client="site")
    source = load(path, client="site", unlabeled="drop")
    assert source.x[:, 0].tolist() == [31, 22, 5]
    assert source.said == ("1 of 4 rows have no label and are left out",)


def test_of_a_row_without_a_client_it_is_said_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "5,6,well,\n")
    with pytest.raises(FedkinError, match=r"line 5: column 'site' is empty: name the client, or"):
        load(path, client="site")
