"""One type a column, whatever its files, its chunks or its gaps."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedkin import Experiment
from fedkin.data.sources import load
from fedkin.data.tables.kinds import decided, keep_as_text, kind_of, spelled
from tests.data.tables.table_examples import write

PIECE = 300_000  # rows: more than pandas guesses a column's type of at a time


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2.5, None], "number"),
        ([True, False], "boolean"),
        ([True, None, False], "boolean"),
        (["a", None], "text"),
        ([1, "a"], "mixed"),
        ([True, "true"], "mixed"),
        ([None, None], "nothing"),
        (pd.to_datetime(["2020-01-01"]), "other"),
        ([1j], "other"),
        (pd.Categorical(["a", "b"]), "text"),
    ],
)
def test_the_kind_of_a_column(cells: Any, kind: str) -> None:
    assert kind_of(pd.Series(cells)) == kind


def test_text_is_decided_again() -> None:
    assert decided(pd.Series(["01", None, "2.5"])).tolist()[::2] == [1, 2.5]
    assert decided(pd.Series(["True", None, "false"])).tolist()[::2] == [True, False]
    assert decided(pd.Series(["true", "1"])).tolist() == ["true", "1"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("1", "2", "10"), False),
        (("False", "True"), False),
        ((), False),
        (("0.5", "1.25"), False),
        (("1", "2", "other"), True),
        (("007", "8"), True),
        (("false", "true"), True),
    ],
)
def test_names_that_only_text_finds_again(names: tuple[str, ...], text: bool) -> None:
    assert keep_as_text(names) is text


def test_numbers_are_spelled_as_in_a_file() -> None:
    assert [spelled(cell) for cell in (3.0, np.float64(2.5), True, "x")] == [
        "3",
        "2.5",
        "True",
        "x",
    ]


def test_a_column_of_a_folder_has_one_type(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    write(folder, "smoker,zip,age,label\ntrue,0012,1,1\nfalse,0012,2,2\ntrue,0013,3,\n", "A.csv")
    rows = "unknown,AB9,1.5,other\n" + "true,AB9,,2\n" * 3
    write(folder, f"label,age,zip,smoker\n2,4,AB9,\n{_turned(rows)}", "B.csv")
    write(folder, "smoker,zip,age,label\n,,,2\n", "C.csv")
    source = load(f"{folder}/", unlabeled="drop")
    assert source.class_names == ("1", "2", "other")
    assert source.columns is not None
    assert [column.values for column in source.columns.columns] == [
        ("false", "true", "unknown"),
        ("0012", "AB9"),
        (),
    ]
    np.testing.assert_array_equal(source.x[:3, 2], [1, 2, 4])


def _turned(rows: str) -> str:
    return "".join(",".join(row.split(",")[::-1]) + "\n" for row in rows.splitlines())


def test_numbers_of_a_folder_stay_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    write(folder, "a,b,label\n1,true,1\n2,false,2\n", "A.csv")
    write(folder, "a,b,label\n1.0,,1.0\n,TRUE,2\n", "B.csv")
    source = load(f"{folder}/")
    assert source.class_names == ("1", "2")
    np.testing.assert_array_equal(source.x, [[1, 1], [2, 0], [1, np.nan], [np.nan, 1]])


def test_a_decimal_comma_of_a_folder_is_one_in_text_too(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    folder.mkdir()
    write(folder, "a;label\n1,5;1\n2,5;2\n", "A.csv")
    write(folder, "a;label\n?;1\n3,5;2\n", "B.csv")
    source = load(f"{folder}/", separator=";", decimal=",")
    np.testing.assert_array_equal(source.x[:, 0], [1.5, 2.5, np.nan, 3.5])


def test_a_folder_of_parquet_has_one_type_a_column(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "sites"
    folder.mkdir()
    pd.DataFrame({"a": [1, 2], "label": [1.0, 2.0]}).to_parquet(folder / "A.parquet")
    pd.DataFrame({"a": [3, 4], "label": ["1", "other"]}).to_parquet(folder / "B.parquet")
    assert load(f"{folder}/").class_names == ("1", "2", "other")


def test_a_column_of_a_long_file_has_one_type(tmp_path: Path) -> None:
    """pandas guesses the type of each 262,144 rows."""
    rows = "true,0012,1\nfalse,AB9,2\n" * (PIECE // 2) + "unknown,AB9,other\n"
    source = load(write(tmp_path, "smoker,zip,label\n" + rows))
    assert source.class_names == ("1", "2", "other")
    assert source.columns is not None
    assert source.columns.columns[0].values == ("false", "true", "unknown")
    path = write(tmp_path, "zip,label\n" + "0012,0\n" * PIECE + "AB9,1\n" * (PIECE + 1))
    source = load(path)
    assert source.columns is not None
    assert source.columns.columns[0].values == ("0012", "AB9")


def _people(gap: bool) -> str:
    rng = np.random.default_rng(0)
    lines = ["site,age,smoker,label"]
    for row in range(160):
        ill = row % 2
        word = "" if gap and row % 9 == 0 else ("true" if ill ^ (row % 8 == 7) else "false")
        lines.append(f"{'abcd'[row // 40]},{rng.integers(20, 90)},{word},{('well', 'ill')[ill]}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("trained", [True, False])
def test_booleans_are_the_same_in_training_predict_and_join(tmp_path: Path, trained: bool) -> None:
    """Trained with gaps and asked without, and the other way round: the numbers are the same."""
    run = Experiment(
        data=f"{write(tmp_path, _people(gap=trained))}:client=site",
        method="fedavg",
        rounds=2,
        engine="inprocess",
        train={"epochs": 20},
    ).run(tmp_path / "run")
    for gap in (True, False):
        path = write(tmp_path, _people(gap=gap).replace("site,", "where,"), "later.csv")
        found = run.predict("a", path)
        truth = pd.read_csv(path)["label"]
        assert (found["prediction"] == truth).mean() > 0.75
        assert not any("never seen" in said or "smoker = " in said for said in found.attrs["said"])
        scores = run.join(path, rounds=1)["scores"]["personal"]
        assert scores["test"]["accuracy"] > 0.6
