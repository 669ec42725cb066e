"""CSV and Parquet: numbers arrive, no row disappears, every fault names its column and line."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load
from fedkin.data.tables.table import is_number
from tests.data.tables.table_examples import write

GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def test_csv(tmp_path: Path) -> None:
    source = load(write(tmp_path, GOOD), client="site")
    np.testing.assert_array_equal(source.x, np.array([[31, 2.5], [40, 1], [22, -300]], np.float32))
    assert source.x.dtype == np.float64  # until it is scaled
    assert source.y.tolist() == [0, 1, 1]
    assert source.class_names == ("sick", "well")
    assert source.client is not None
    assert source.client.tolist() == ["north", "007", "NA"]  # neither a number nor a missing value


def test_csv_regression(tmp_path: Path) -> None:
    path = write(tmp_path, "a,label\n1,0.5\n2,2\n")
    source = load(path)
    assert (source.task, source.classes) == ("regression", 0)
    assert source.y.tolist() == [0.5, 2.0]
    assert load(write(tmp_path, "a,label\n1,3\n2,2\n"), task="regression").y.dtype == np.float32


def test_relative_path_in_the_data_folder(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert len(load("t.csv", tmp_path, client="site").x) == 3


@pytest.mark.parametrize("mark", ["NA", "nan", "null", "?"])
def test_what_stands_for_nothing_is_no_class(mark: str, tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("40,1,well", f"40,1,{mark}"))
    with pytest.raises(
        FedkinError,
        match=r"line 3: column 'label' holds .*which stands for nothing.*unlabeled=drop",
    ):
        load(path, client="site")
    assert load(path, client="site", unlabeled="drop").said == (
        "1 of 3 rows have no label and are left out",
    )
    numbers = (
        f"age,label,site\n1,0.5,a\n2,{mark},a\n3,1.25,b\n"  # numbers again, once the mark is out
    )
    source = load(write(tmp_path, numbers), client="site", unlabeled="drop")
    assert source.y.tolist() == [0.5, 1.25]


def test_the_label_is_not_the_client_as_well(tmp_path: Path) -> None:
    path = write(tmp_path, "site,x,label\na,1,0\nb,2,1\n")
    with pytest.raises(FedkinError, match=r"'site' is named by data.label and by data.client"):
        load(path, client="site", label="site")


@pytest.mark.parametrize("role", ["label", "client"])
def test_a_column_with_a_role_is_not_left_out_as_well(role: str, tmp_path: Path) -> None:
    path = write(tmp_path, "site,x,label\na,1,0\nb,2,1\n")
    column = {"label": "label", "client": "site"}[role]
    with pytest.raises(FedkinError, match=f"'{column}' is named by data.drop and by data.{role}"):
        load(path, client="site", drop=[column])


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e5", True), ("-.5", True), ("nan", True), ("1_0", False), ("\uff11\uff10", False)],
)
def test_a_number_is_what_pandas_reads_as_one(text: str, number: bool) -> None:
    assert is_number(text) is number
