"""Tables that fit a terminal: numbers are never cut."""

import io

import pytest
from rich.console import Console

from fedkin.report.comparison.fitting import Fitting, columns_that_fit
from fedkin.report.comparison.sheet import Sheet

SHEET = Sheet(
    "Scores",
    ["method", "setting", *(f"measure {n}" for n in range(9))],
    [
        ["a", "x=1", *(f"72.1{n} ± 0.83" for n in range(9))],
        ["b", "x=22", *("9.0" for _ in range(9))],
    ],
    2,
    "what it means",
)


@pytest.mark.parametrize("width", [40, 80, 120, 400])
def test_every_number_stands_once_and_whole(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(Fitting(SHEET, dim=[1]))
    text = out.getvalue()
    for n in range(9):
        assert text.count(f"72.1{n} ± 0.83") == 1
    assert max(map(len, text.splitlines())) <= width
    assert text.count("what it means") == 1
    assert text.count("(continued)") == len(columns_that_fit(SHEET, width)) - 1


def test_words_stand_in_every_part() -> None:
    parts = columns_that_fit(SHEET, 60)
    assert all(part[:2] == [0, 1] for part in parts)
    assert [column for part in parts for column in part[2:]] == list(range(2, 11))
