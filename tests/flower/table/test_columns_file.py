"""The file of columns says one thing, or in one sentence why not."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.table.columns_file import read_columns
from tests.flower.table.tables import COLUMNS

BEGIN = 'label = "y"\n[columns]\n'
FAULTS = {
    "no TOML": ("label = ", "is not valid TOML"),
    "no columns": ('label = "y"', "columns: Field required"),
    "empty columns": (BEGIN, "columns: Dictionary should have at least 1 item"),
    "an unknown key": (
        COLUMNS.replace("group", "groups"),
        "unknown key 'groups': did you mean",
    ),
    "an unknown key of a column": (BEGIN + "a = { fil = 1 }", "unknown key 'columns.a.fil': did"),
    "neither": (BEGIN + "a = { flag = true }", "column 'a' needs one of fill"),
    "both": (BEGIN + "a = { fill = 1, values = [2] }", "column 'a' needs one of fill"),
    "rest of numbers": (BEGIN + "a = { fill = 1, rest = true }", "rest is for columns of words"),
    "a truth": (BEGIN + "a = { values = [true] }", "columns.a.values.0"),
    "infinite": (BEGIN + "a = { fill = inf }", "columns.a.fill: Input should be a finite number"),
    "too large": (BEGIN + "a = { fill = -1e300 }", "column 'a': fill is too large for float32"),
    "a word twice": (BEGIN + 'a = { values = [1, "1"] }', "values of column 'a': '1' is there tw"),
    "a class twice": ('classes = ["a", "a"]\n' + BEGIN + "a = { fill = 1 }", "classes: 'a' is th"),
    "one class": ('classes = ["a"]\n' + BEGIN + "a = { fill = 1 }", "classes has one value"),
    "the label": (BEGIN + "y = { fill = 1 }", "column 'y' is the label or the group, and no input"),
    "parts": ("parts = [0.6, 0.2, 0.1]\n" + BEGIN + "a = { fill = 1 }", "parts sum to 0.9"),
    "no training": ("parts = [0, 0.5, 0.5]\n" + BEGIN + "a = { fill = 1 }", "parts: fractions=("),
    "two of a name": (BEGIN + 'a = { values = [1] }\n"a = 1" = { fill = 0 }', "'a = 1' is there"),
    "split": (BEGIN + "split = { fill = 1 }", "rename the column"),
    "a long name": (BEGIN + f"{'a' * 201} = {{ fill = 1 }}", "with names of 200 letters"),
    "many inputs": (BEGIN + f"a = {{ values = {list(range(20_001))} }}", "makes 20,001 inputs"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_mistake_is_one_sentence_about_the_file(case: str, tmp_path: Path) -> None:
    text, said = FAULTS[case]
    path = tmp_path / "columns.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FedkinError) as told:
        read_columns(path)
    assert str(told.value).startswith(str(path))
    assert said in str(told.value)
    assert len(str(told.value).splitlines()) == 1


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="cannot be read: No such file"):
        read_columns(tmp_path / "columns.toml")
    with pytest.raises(FedkinError, match="cannot be read: it is a folder"):
        read_columns(tmp_path)
    (tmp_path / "columns.toml").write_bytes(b"\xff")
    with pytest.raises(FedkinError, match="is not valid TOML"):
        read_columns(tmp_path / "columns.toml")


def test_inputs_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(COLUMNS, encoding="utf-8")
    assert read_columns(path).encoding.outputs[:4] == [
        "age",
        "age is missing",
        "bmi",
        "ward = heart",
    ]
