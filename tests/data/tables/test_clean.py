"""Marks for nothing, spellings of one thing, repeated rows."""

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import Read
from fedkin.data.tables.clean import as_trained, marks_of, unified, with_gaps, without_repeats
from fedkin.data.tables.schema import Roles

FRAME = pd.DataFrame(
    {
        "age": ["31", " -1", "<5", "40"],
        "ward": ["ICU", "?", "icu ", None],
        "dose": [1.0, -1.0, 3.0, -1.5],
        "label": ["yes", "?", "no", "-1"],
        "site": ["?", "a", "-1", "b"],
    }
)
READ = Read(FRAME, lambda row: f"t.csv, line {row + 2}")


def test_a_list_is_for_all_columns_that_models_see() -> None:
    found = with_gaps(READ, "t.csv", Roles(client="site", missing=["?", -1, "<5"])).frame
    assert found["age"].tolist()[::3] == [31, 40]  # numbers again, once the marks are out
    assert found["age"].isna().tolist() == [False, True, True, False]
    assert found["ward"].isna().tolist() == [False, True, False, True]
    assert found["dose"].isna().tolist() == [False, True, False, False]  # -1.0 is spelled -1
    assert found["label"].tolist() == ["yes", "?", "no", "-1"]
    assert found["site"].tolist() == ["?", "a", "-1", "b"]
    assert FRAME["age"].tolist() == ["31", " -1", "<5", "40"]  # what was read stays


def test_a_list_is_not_for_columns_that_are_about_rows() -> None:
    frame = pd.DataFrame({"label": [0, 1], "age": [1, -1], "site": ["-1", "b"]})
    found = with_gaps(Read(frame, READ.place), "t.csv", Roles(about="site", missing=[-1])).frame
    assert found["site"].tolist() == ["-1", "b"]
    assert found["age"].isna().tolist() == [False, True]


def test_a_table_names_columns_the_labels_among_them() -> None:
    found = with_gaps(READ, "t.csv", Roles(missing={"label": ["?"], "age": ["<5"]})).frame
    assert found["label"].isna().tolist() == [False, True, False, False]
    assert found["age"].tolist()[:2] == [31, -1]
    assert found["ward"][1] == "?"
    with pytest.raises(FedkinError, match=r"column of data\.missing in t\.csv.*'Age'.*age"):
        with_gaps(READ, "t.csv", Roles(missing={"Age": ["?"]}))
    assert with_gaps(READ, "t.csv", Roles()) is READ


def test_what_is_left_without_its_marks_is_what_it_is() -> None:
    frame = pd.DataFrame({"code": ["07", "?", "8"], "smoker": ["true", "?", "FALSE"]})
    read = Read(frame, READ.place)
    found = with_gaps(read, "t.csv", Roles(missing=["?"])).frame
    assert found["code"].tolist()[::2] == [7, 8]
    assert found["smoker"].tolist()[::2] == [True, False]
    named = with_gaps(read, "t.csv", Roles(missing=["?"], categorical="code")).frame
    assert named["code"].tolist()[::2] == ["07", "8"]


def test_marks_are_lists() -> None:
    assert marks_of([" x", 2.0], ["a"]) == {"a": ("x", "2")}
    assert marks_of({"a": [], "b": ["?"]}, ["a"]) == {"b": ("?",)}
    with pytest.raises(FedkinError, match=r"data\.missing of column 'b' is '<5': write a list"):
        marks_of({"b": "<5"}, [])


def test_spellings_become_one() -> None:
    found = unified(READ, ["ward"])
    assert found.frame["ward"].tolist() == ["icu", "?", "icu", None]
    assert FRAME["ward"][0] == "ICU"
    assert found.place(1) == "t.csv, line 3"
    assert unified(READ, []) is READ


def test_later_rows_are_read_as_training_rows_were() -> None:
    options = {"missing": {"ward": ["?"], "gone": [1]}, "unify": ["ward", "gone"]}
    found = as_trained(READ, options, ["age", "ward", "dose"]).frame
    assert found["ward"].isna().tolist() == [False, True, False, True]
    assert found["ward"][2] == "icu"
    assert as_trained(READ, {}, ["age"]).frame.equals(FRAME)
    listed = as_trained(READ, {"missing": ["?", -1]}, ["age", "ward", "dose"]).frame
    assert listed["age"].isna().tolist() == [False, True, False, False]
    assert listed["label"].tolist() == FRAME["label"].tolist()  # a class may be spelled so


def test_the_first_of_equal_rows_stays_and_keeps_its_place() -> None:
    frame = pd.DataFrame({"a": [1, 2, 1, 3, 1], "b": ["x", "x", "x", "y", "x"], "c": range(5)})
    read = Read(frame, lambda row: f"line {row + 2}", ("before",))
    found = without_repeats(read, ["a", "b"], "drop")
    assert found.frame["c"].tolist() == [0, 1, 3]
    assert [found.place(row) for row in range(3)] == ["line 2", "line 3", "line 5"]
    assert found.said == ("before", "2 rows repeat an earlier one and are left out")
    assert without_repeats(read, ["a", "b", "c"], "drop") is read
    assert without_repeats(read, ["a", "b"], "keep") is read
    one = without_repeats(Read(frame[:3], read.place), ["a", "b"], "drop")
    assert one.said == ("1 row repeats an earlier one and is left out",)
    with pytest.raises(FedkinError, match=r"unknown value of data\.duplicates 'dropp'.*drop"):
        without_repeats(read, ["a"], "dropp")
