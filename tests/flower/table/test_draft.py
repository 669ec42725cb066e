"""A draft of the file of columns fits the table that it was made of, and says what it reveals."""

from pathlib import Path

import pandas as pd
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import Style
from fedkin.flower.table.columns_file import read_columns
from fedkin.flower.table.draft import draft
from fedkin.flower.table.prepare import prepare
from tests.cli.command import fedkin
from tests.flower.table.tables import node, raw


def of(folder: Path, table: pd.DataFrame, **named: str | None) -> tuple[str, dict[str, str]]:
    table.to_csv(folder / "raw.csv", index=False)
    given = {"label": "outcome", "group": None, **named}
    return draft(folder / "raw.csv", given["label"], given["group"], Style(), "c.toml")  # type: ignore[arg-type]


def test_it_prepares_its_own_table(tmp_path: Path) -> None:
    folder = node(tmp_path)
    table = raw().assign(
        day=pd.Timestamp("2020-01-01"),
        name=[f"Mrs {k}" for k in range(80)],
        rare=[1.0, *([None] * 79)],
        odd=["common"] * 77 + ["rare"] * 3,
    )
    table.to_parquet(folder / "raw.parquet")
    text, left = draft(folder / "raw.parquet", "outcome", "patient", Style(), "columns.toml")
    assert left == {
        "day": "date",
        "name": "none of its words is in 5 rows",
        "rare": "fewer than 5 rows have a value",
    }
    said = text.replace("\n# ", " ")
    assert "it tells everybody who has it the words that 5 rows or more of it hold" in said
    assert "Mrs" not in text
    path = folder / "columns.toml"
    path.write_text(text, encoding="utf-8")
    made = read_columns(path)
    assert (made.label, made.classes, made.group) == ("outcome", ("home", "readmitted"), "patient")
    assert made.columns["ward"].values == ("eye", "heart", "lung")
    assert made.columns["odd"].model_dump() == {
        "fill": None,
        "values": ("common",),
        "rest": True,
        "flag": False,
    }
    assert made.columns["smoker"].flag
    assert made.columns["bmi"].fill == 27.1
    found = prepare(folder, folder / "raw.parquet", path)
    assert found["unknown"] == [{"column": "odd", "rows": 3, "words": ["rare"]}]


def test_columns_that_number_the_rows_are_no_inputs(tmp_path: Path) -> None:
    table = raw().assign(
        case_no=range(70_000, 70_080),
        age=[40 + k % 7 for k in range(80)],
        weight=[50 + 0.25 * k for k in range(80)],
    )
    text, left = of(tmp_path, table, group="patient")
    assert left == {"case_no": "identifier"}
    assert "70" not in text, "nor is a median of them told"
    assert "age = " in text
    assert "weight = " in text


def test_dates_that_are_words_are_no_words_of_a_column(tmp_path: Path) -> None:
    for noted in ("2020-03-0", "3.4.202"):
        table = raw().assign(noted=[f"{noted}{1 + k % 4}" for k in range(80)])
        text, left = of(tmp_path, table, group="patient")
        assert left == {"noted": "date"}
        assert noted not in text


def test_numbers_that_are_read_as_words_are_no_words_of_a_column(tmp_path: Path) -> None:
    for ending, said in ((",5", "a decimal comma: --decimal , reads them"), (" mg", "a unit: w")):
        table = raw().assign(dose=[f"{10 + k % 16}{ending}" for k in range(80)])
        text, left = of(tmp_path, table, group="patient")
        assert said in left["dose"]
        assert ending not in text


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    for label, said in (
        (range(80), "classes = ["),
        ([k / 7 for k in range(80)], "# no classes: it holds numbers"),
    ):
        assert said in of(tmp_path, raw().assign(outcome=label))[0]
    many = pd.concat([raw(), raw()]).assign(outcome=range(160))
    assert "# no classes" in of(tmp_path, many)[0]


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="'outcom': did you mean 'outcome'"):
        of(tmp_path, raw(), label="outcom")
    with pytest.raises(FedkinError, match="has no column of numbers or words besides 'outcome'"):
        of(tmp_path, raw()[["outcome", "patient"]], group="patient")
    with pytest.raises(FedkinError, match="is no table that can be prepared"):
        draft(tmp_path / "raw.xlsx", "y", None, Style(), "c.toml")


def test_the_command_prints_or_writes(tmp_path: Path) -> None:
    raw().to_csv(tmp_path / "raw.csv", index=False)
    given = ("deploy", "columns", tmp_path / "raw.csv", "--label", "outcome")
    done = fedkin(*given)
    assert (done.exit_code, done.stdout.splitlines()[0][:2]) == (0, "# ")
    assert "next: fedkin deploy prepare NODE --table RAW --columns FILE" in done.stderr
    done = fedkin(*given, "--out", tmp_path / "columns.toml")
    assert done.exit_code == 0
    assert read_columns(tmp_path / "columns.toml").label == "outcome"
    edited = tmp_path / "edited.toml"
    edited.write_text("by = 'hand'", encoding="utf-8")
    for there in (edited, tmp_path / "raw.csv"):
        done = fedkin(*given, "--out", there)
        assert done.exit_code == 2
        assert f"{there} is there already: choose another name with --out" in done.stderr
    assert edited.read_text(encoding="utf-8") == "by = 'hand'"


def test_columns_of_lists_are_left_out(tmp_path: Path) -> None:
    table = raw().assign(codes=[["I10", "E11"]] * 80)
    table.to_parquet(tmp_path / "raw.parquet")
    text, left = draft(tmp_path / "raw.parquet", "outcome", "patient", Style(), "c.toml")
    assert left["codes"] == "it holds lists"
    assert "codes" not in text
    for roles in (("codes", None), ("outcome", "codes")):
        with pytest.raises(FedkinError, match=r"row 0: column 'codes' holds lists, and a label"):
            draft(tmp_path / "raw.parquet", *roles, Style(), "c.toml")
