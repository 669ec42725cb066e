"""Numbers that are written so that they are read as words."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Problem
from fedkin.data.quality.written_numbers import written_numbers
from fedkin.doctor.data_checks import check_data, data_notes
from fedkin.runs.spec import Spec, parse


def _told(*values: str) -> list[Problem]:
    return written_numbers([ParsedColumn("a", np.empty(0), values)])


def _of(pattern: str) -> list[str]:
    return [pattern.format(n) for n in range(10, 30)]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (_of("{},5"), "numbers with a decimal comma ('10,5')"),
        ([*_of("{},123"), "7,5", "NA", "8"], "numbers with a decimal comma ('10,123')"),
        (_of("{},123"), "numbers with separators of thousands ('10,123')"),
        (_of("{},123.50"), "numbers with separators of thousands"),
        (_of("1.{},50".replace("{}", "1{}")), "numbers with separators of thousands"),
        (_of("{} years"), "numbers with a unit ('10 years')"),
        (_of("{}%"), "numbers with a unit"),
        (_of("{}.5 mg/l"), "numbers with a unit"),
        (_of("{}:30"), "numbers with a colon, as times of day or durations have ('10:30')"),
        (_of("{} days 01:30:00"), "numbers with a colon"),
    ],
)
def test_numbers_are_found_behind_how_they_are_written(values: list[str], says: str) -> None:
    (problem,) = _told(*values)
    assert says in problem.says
    assert problem.fix == ({"data.decimal": ","} if "decimal" in says else {})


@pytest.mark.parametrize(
    "values",
    [
        _of("H{}"),
        _of("ward {}"),
        _of("{}-99"),
        _of("{},1,2"),
        _of("{}:1:2"),
        _of("2024-01-{}"),
        [*_of("{} mg"), "20 ml"],  # of two units the numbers are no amounts of one thing
        ["50 mg", "100 mg", "200 mg"],
        ["yes", "no"],
        [f"{n}{'abcdefghij'[n % 10]}" for n in range(10, 30)],
    ],
)
def test_names_are_none(values: list[str]) -> None:
    assert _told(*values) == []


def _german(folder: Path, columns: str = "site;size;weight;label", **more: str) -> Spec:
    rows = [f"{'ab'[n % 2]};{n},5;{60 + n % 30},25;{'yn'[n % 3 > 0]}" for n in range(120)]
    (folder / "t.csv").write_text("\n".join([columns, *rows]))
    file = {"name": str(folder / "t.csv"), "separator": ";", "client": "site", **more}
    return parse({"data": file})[0]


def test_a_table_with_decimal_commas_is_told_once_with_its_fix(tmp_path: Path) -> None:
    spec = _german(tmp_path)
    (told,) = [one for one in check_data(spec).found["problems"] if "size" in one["sentence"]]
    assert told["sentence"].startswith("columns 'size', 'weight' hold numbers with a decimal comma")
    assert told["fix"] == {"data.decimal": ","}
    (note,) = data_notes(spec)  # a run says it, and says nothing of identifiers
    assert note == told["sentence"]
    spec = _german(tmp_path, decimal=",")
    assert not any("decimal" in one["sentence"] for one in check_data(spec).found["problems"])
    assert data_notes(spec) == []


def test_labels_with_decimal_commas_are_told(tmp_path: Path) -> None:
    spec = _german(tmp_path, "site;size;label;other")
    (note,) = [one for one in data_notes(spec) if "decimal" in one]
    assert "'size', 'label'" in note


def test_a_cell_of_any_length_is_looked_at_in_no_time() -> None:
    """Its pattern would take hours for a million letters behind a digit."""
    assert _told(*(f"{n}{'a' * 1_000_000}!" for n in range(12))) == []
