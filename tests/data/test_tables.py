"""CSV and Parquet: numbers arrive, no row disappears, every fault names its column and line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load

GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def write(tmp_path: Path, text: str, name: str = "t.csv") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_csv(tmp_path: Path) -> None:
    source = load(write(tmp_path, GOOD), client="site")
    np.testing.assert_array_equal(source.x, np.array([[31, 2.5], [40, 1], [22, -300]], np.float32))
    assert source.x.dtype == np.float32
    assert source.y.tolist() == [0, 1, 1]
    assert source.class_names == ("sick", "well")
    assert source.client is not None
    assert source.client.tolist() == ["north", "007", "NA"]  # neither a number nor a missing value


def test_csv_label_column_integers_keep_their_values(tmp_path: Path) -> None:
    source = load(write(tmp_path, "a,b,grade\n1,2,5\n3,4,3\n5,6,5\n"), label="grade")
    assert source.y.tolist() == [1, 0, 1]
    assert source.class_names == ("3", "5")
    assert source.client is None


def test_csv_regression(tmp_path: Path) -> None:
    path = write(tmp_path, "a,label\n1,0.5\n2,2\n")
    source = load(path)
    assert (source.task, source.classes) == ("regression", 0)
    assert source.y.tolist() == [0.5, 2.0]
    assert load(write(tmp_path, "a,label\n1,3\n2,2\n"), task="regression").y.dtype == np.float32


def test_byte_order_mark_and_empty_lines_at_the_end(tmp_path: Path) -> None:
    assert load(write(tmp_path, "﻿a,label\n1,0\n2,1\n\n\n")).x.tolist() == [[1.0], [2.0]]


def test_relative_path_in_the_data_folder(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert len(load("t.csv", tmp_path, client="site").x) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("40,1", "40,"), ("line 3", "'ward'", "empty")),
        (GOOD.replace("40,1", "forty,1"), ("line 3", "'age'", "'forty'", "not a number")),
        (GOOD.replace("40,1", "40,nan"), ("line 3", "'ward'")),
        (GOOD.replace("40,1", "40,NA"), ("line 3", "'ward'", "'NA'")),
        (GOOD.replace("40,1", "40,inf"), ("line 3", "'ward'", "infinite")),
        (GOOD.replace("40,1", "40,1e300"), ("line 3", "'ward'", "too large")),
        (GOOD.replace("-3e2,well", "-3e2,"), ("line 4", "'label'", "empty")),
        (GOOD.replace("well,007", "well,"), ("line 3", "'site'", "empty")),
        (GOOD.replace("40,1,well,007", "40,1,well"), ("line 3", "'site'", "empty")),
        (GOOD.replace("40,1,well,007", "40,1,well,007,8"), ("line 3", "5")),
        (GOOD.replace("31,2.5,sick,north", "31,2.5,sick,north,9"), ("line 2", "5 cells", "4 column names")),
        (GOOD.replace("40,1,well,007", ""), ("line 3", "empty")),
        (
            GOOD.replace("label", "lable"),
            ("no label column 'label'", "did you mean 'lable'", "--set data.label=COLUMN"),
        ),
        (GOOD.replace("site", "sight"), ("no client column 'site'", "sight")),
        (GOOD.replace("ward", "age"), ("'age' appears twice",)),
        (GOOD.replace("label", "out"), ("name it with --set data.label=COLUMN (columns: age, ward, out, site)",)),
        (GOOD.replace(",", ";"), ("separated by ';'? fedkin reads commas",)),
        (GOOD.replace(",", "\t"), ("separated by '\\t'? fedkin reads commas",)),
        ("age,ward,label,site\n", ("no rows",)),
        ("", ("empty", "columns")),
        ("label,site\n1,a\n", ("no feature columns",)),
    ],
)
def test_every_fault_of_a_csv_names_its_place(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(FedkinError) as error:
        load(write(tmp_path, text), client="site")
    assert "\n" not in str(error.value)
    for word in ("t.csv", *words):
        assert word in str(error.value)


def test_a_text_column_may_be_the_client(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(FedkinError, match=r"or name it as the client: --set data\.client=site"):
        load(path)
    with pytest.raises(FedkinError, match="'ward' holds 'a', which is not a number") as error:
        load(write(tmp_path, GOOD.replace("2.5", "a")), client="site")
    assert "data.client" not in str(error.value)
    with pytest.raises(FedkinError, match=r"'label' holds 'sick'.*data\.task=classification"):
        load(write(tmp_path, GOOD), client="site", task="regression")


def test_standard_scale_is_the_z_score_of_all_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c,label\n1,0.1,1e30,0\n2,0.1,-1e30,1\n6,0.1,3e30,1\n")
    x = load(path, scale="standard").x
    assert x.dtype == np.float32
    a = np.array([1, 2, 6])
    np.testing.assert_allclose(x[:, 0], (a - 3) / a.std(), rtol=1e-6)
    assert x[:, 1].tolist() == [0, 0, 0]  # a constant column
    np.testing.assert_allclose([x[:, 2].mean(), x[:, 2].std()], [0, 1], atol=1e-6)
    np.testing.assert_array_equal(load(path, scale="none").x, load(path).x)
    with pytest.raises(FedkinError, match="use 'none' or 'standard'"):
        load(path, scale="minmax")


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(FedkinError, match="UTF-8"):
        load(str(tmp_path / "t.csv"))
    with pytest.raises(FedkinError, match="'auto', 'classification' or 'regression'"):
        load(write(tmp_path, GOOD), task="guess")
    with pytest.raises(FedkinError, match="unknown parameter"):
        load(write(tmp_path, GOOD), tusk="auto")


def test_many_rows_all_arrive(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(label=np.arange(5000) % 7, who=np.arange(5000) % 11)
    frame.to_csv(tmp_path / "big.csv", index=False)
    source = load(str(tmp_path / "big.csv"), client="who")
    np.testing.assert_allclose(source.x, x, rtol=1e-6)
    np.testing.assert_array_equal(source.y, np.arange(5000) % 7)
    assert source.client is not None
    assert source.client[12] == "1"


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "label": ["u", "v", "u"], "who": [4, 5, 5]})
    frame.to_parquet(tmp_path / "t.parquet")
    source = load(str(tmp_path / "t.parquet"), client="who")
    assert source.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert source.y.tolist() == [0, 1, 0]
    assert source.client is not None
    assert source.client.tolist() == [4, 5, 5]
    frame.assign(a=[1.0, None, 3.0]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FedkinError, match=r"row 1: column 'a' is empty"):
        load(str(tmp_path / "t.parquet"))
    frame.assign(a=pd.to_datetime(["2020-01-01"] * 3)).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FedkinError, match=r"row 0: column 'a' holds .*2020.*not a number"):
        load(str(tmp_path / "t.parquet"))
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FedkinError, match=r"t\.parquet") as error:
        load(str(tmp_path / "t.parquet"))
    assert "\n" not in str(error.value)
