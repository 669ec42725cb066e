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


def test_a_name_of_a_run_is_not_folded_where_there_is_room() -> None:
    """At 80 columns the run's name was, as "fedavg-" and "0", for a long heading of numbers."""
    heads = ["run", "paper bytes", "unicast bytes", "paper scalars", "seconds"]
    heads += ["seconds per round", "helped %", "hurt %"]
    row = ["fedavg-0", "12.1 MB", "15.1 MB", "3.0 M", "12.1 s", "0.1 s", "60.0", "40.0"]
    out = io.StringIO()
    sheet = Sheet("Costs", heads, [row], 1)
    Console(file=out, width=80, color_system=None).print(Fitting(sheet))
    assert "fedavg-0" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80


@pytest.mark.parametrize("width", range(40, 121))
def test_no_number_is_cut_where_a_heading_has_several_words(width: int) -> None:
    """At 100 columns the last number was cut, 22.5 for 22.57, for "by val." was kept whole."""
    heads = ["run", "method", "seed", "rounds", "mean", "weighted", "std", "worst decile"]
    heads += ["by val.", "global", "balanced accuracy"]
    row = ["private", "fedavg", "0", "2", "18.73", "28.85", "32.92", "0.00", "28.86", "28.84"]
    out = io.StringIO()
    sheet = Sheet("Scores", heads, [[*row, "22.57"]], 2)
    Console(file=out, width=width, color_system=None).print(Fitting(sheet))
    text = out.getvalue()
    assert [cell for cell in (*row, "22.57") if cell not in text.split()] == []
    assert max(map(len, text.splitlines())) <= width


def test_numbers_of_a_wide_table_are_neither_cut_nor_folded() -> None:
    cells = [f"{70 + k}.10 ± {k}.83" for k in range(7)]
    names = [f"measure number {k}" for k in range(7)]
    sheet = Sheet("Seeds", ["method", *names], [["fedavg", *cells], ["local", *cells]], 1, "note")
    for width in (30, 60, 200):
        out = Console(width=width, force_terminal=False, record=True, file=io.StringIO())
        out.print(Fitting(sheet))
        text = out.export_text()
        assert all(len(line.rstrip()) <= width for line in text.splitlines())
        assert [text.count(cell) for cell in cells] == [2] * 7
        assert text.count("note") == 1
        assert ("(continued)" in text) == (width < 200)
