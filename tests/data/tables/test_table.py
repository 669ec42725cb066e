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
        (GOOD.replace("40,1", "forty,1"), ("line 3", "'age'", "'forty'", "not a number")),
        (GOOD.replace("40,1", "40,inf"), ("line 3", "'ward'", "infinite")),
        (GOOD.replace("40,1", "40,1e300"), ("line 3", "'ward'", "too large")),
        (GOOD.replace("-3e2,well", "-3e2,"), ("line 4", "'label'", "empty")),
        (GOOD.replace("well,007", "well,"), ("line 3", "'site'", "empty")),
        (GOOD.replace("40,1,well,007", "40,1,well"), ("line 3", "3 cells under 4 column names")),
        (GOOD + "22,-3", ("line 5", "2 cells under 4 column names", "cut short")),
        (GOOD.replace("40,1,well,007", "40,1,well,007,8"), ("line 3", "5")),
        (
            GOOD.replace("31,2.5,sick,north", "31,2.5,sick,north,9"),
            ("line 2", "5 cells", "4 column names"),
        ),
        (GOOD.replace("40,1,well,007", ""), ("line 3", "empty")),
        (
            GOOD.replace("label", "lable"),
            ("no label column 'label'", "did you mean 'lable'", "--set data.label=COLUMN"),
        ),
        (GOOD.replace("site", "sight"), ("no client column 'site'", "sight")),
        (GOOD.replace("ward", "age"), ("'age' appears twice",)),
        (
            GOOD.replace("label", "out"),
            ("name it with --set data.label=COLUMN (columns: age, ward, out, site)",),
        ),
        (GOOD.replace(",", ";"), ("separated by ';'? fedkin reads commas",)),
        (GOOD.replace(",", "\t"), ("separated by '\\t'? fedkin reads commas",)),
        ("age,ward,label,site\n", ("no rows",)),
        ("", ("empty", "columns")),
        ("label,site\n1,a\n", ("no feature columns",)),
    ],
)
def test_every_fault_of_a_csv_names_its_place(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(FedkinError) as error:
        load(write(tmp_path, text), client="site")
    assert "\n" not in str(error.value)
    for word in ("t.csv", *words):
        assert word in str(error.value)


def test_a_number_that_is_none_is_told_and_words_are_categories(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    columns = load(path).columns
    assert columns is not None
    assert columns.columns[2] == ("site", ("007", "NA", "north"), False)
    text = GOOD + "1,2,well,8\n" * 5
    with pytest.raises(
        FedkinError, match=r"line 2: column 'ward' holds 'a', .*categorical=\[\"ward\"\]"
    ):
        load(write(tmp_path, text.replace("2.5", "a")), client="site")
    with pytest.raises(
        FedkinError, match=r"line 2: column 'label' holds 'sick'.*data\.task=classification"
    ):
        load(write(tmp_path, GOOD), client="site", task="regression")


def test_missing_cells_are_nan_until_they_are_encoded(tmp_path: Path) -> None:
    for cell in ("", "NA", "nan", "?", " null "):
        x = load(write(tmp_path, GOOD.replace("40,1", f"40,{cell}")), client="site").x
        assert np.isnan(x).tolist() == [[False, False], [False, True], [False, False]], cell


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


def test_rows_without_a_label_are_refused_or_counted(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("40,1,well", "40,1,") + "5,6,well,b\n")
    with pytest.raises(FedkinError, match=r"line 3: column 'label' is empty.*data\.unlabeled=drop"):
        load(path, client="site")
    source = load(path, client="site", unlabeled="drop")
    assert source.x[:, 0].tolist() == [31, 22, 5]
    assert source.said == ("1 of 4 rows have no label and are left out",)


def test_other_separators_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe;label\n1,5;kühl\n2,5;warm\n".encode("cp1252"))
    source = load(str(path), separator=";", decimal=",", encoding="cp1252")
    assert (source.x.ravel().tolist(), source.class_names) == ([1.5, 2.5], ("kühl", "warm"))
    with pytest.raises(FedkinError, match="not UTF-8 text"):
        load(str(path))
    with pytest.raises(FedkinError, match="is not known: use utf-8"):
        load(str(path), encoding="klingon")


def test_a_folder_with_a_table_for_each_client(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    write(folder, "age,ward,label\n1,a,0\n2,b,1\n", "north.csv")
    write(folder, "ward,label,age\nc,1,3\n", "south.csv")
    write(folder, "age,ward,label\n", "west.csv")
    source = load(f"{folder}/")
    assert source.client is not None
    assert source.client.tolist() == ["north", "north", "south"]
    assert source.x.tolist() == [[1, 0], [2, 1], [3, 2]]
    assert source.said == ("1 of 3 files have no rows, and so are no clients: west.csv",)
    write(folder, "age,ward,label\n1,a,0\nx,b,1\n3,b,1\n4,b,1\n", "east.csv")
    with pytest.raises(FedkinError, match=r"east\.csv, line 3: column 'age' holds 'x'"):
        load(f"{folder}/")
    write(folder, "age,word,label\n1,a,0\n", "east.csv")
    with pytest.raises(
        FedkinError, match=r"east\.csv has 'word' and north\.csv does not|'ward' and east\.csv"
    ):
        load(f"{folder}/")


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
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(
        label=np.arange(5000) % 7, who=np.arange(5000) % 11
    )
    frame.to_csv(tmp_path / "big.csv", index=False)
    source = load(str(tmp_path / "big.csv"), client="who")
    np.testing.assert_allclose(source.x, x, rtol=1e-6)
    np.testing.assert_array_equal(source.y, np.arange(5000) % 7)
    assert source.client is not None
    assert source.client[12] == 1


def test_clients_stand_in_one_order_in_every_format(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": range(12), "label": [0, 1] * 6, "who": range(11, -1, -1)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    one, other = (load(str(tmp_path / name), client="who") for name in ("t.csv", "t.parquet"))
    assert (
        np.unique(one.client).tolist() == np.unique(other.client).tolist() == list(range(12))
    )  # 10 after 9
    (tmp_path / "named.csv").write_text("a,label,who\n1,0,10\n2,1,9\n3,1,07\n", encoding="utf-8")
    assert load(str(tmp_path / "named.csv"), client="who").client.tolist() == ["10", "9", "07"]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"a": [1, 2, 3], "b": [True, False, True], "label": ["u", "v", "u"], "who": [4, 5, 5]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    source = load(str(tmp_path / "t.parquet"), client="who")
    assert source.x.tolist() == [[1, 1], [2, 0], [3, 1]]
    assert source.y.tolist() == [0, 1, 0]
    assert source.client is not None
    assert source.client.tolist() == [4, 5, 5]
    frame.assign(a=[1.0, None, 3.0]).to_parquet(tmp_path / "t.parquet")
    assert np.isnan(load(str(tmp_path / "t.parquet")).x[1, 0])
    frame.assign(a=pd.to_datetime(["2020-01-01"] * 3)).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FedkinError, match=r"row 0: column 'a' holds dates.*data\.drop"):
        load(str(tmp_path / "t.parquet"))
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FedkinError, match=r"t\.parquet") as error:
        load(str(tmp_path / "t.parquet"))
    assert "\n" not in str(error.value)
