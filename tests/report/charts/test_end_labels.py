"""Names beside lines."""

from itertools import pairwise

import pytest

from fedkin.report.charts.end_labels import LINE, first_line, spread_positions, wrapped


@pytest.mark.parametrize(
    "wanted",
    [[100.0, 50.0], [100.0, 101.0, 99.0], [0.0, 0.0, 0.0], [200.0] * 5, [5.0, 150.0, 151.0, 199.0]],
)
def test_none_is_upon_another_and_all_are_in_the_chart(wanted: list[float]) -> None:
    found = spread_positions(wanted, ["x"] * len(wanted), 200.0)
    places = sorted(found)
    assert all(b - a >= LINE - 1e-9 for a, b in pairwise(places))
    assert places[0] >= LINE / 2 - 1e-9
    assert places[-1] <= 200 - LINE / 2 + 1e-9
    assert sorted(range(len(wanted)), key=lambda k: (wanted[k], found[k])) == sorted(
        range(len(wanted)), key=lambda k: found[k]
    )


def test_a_name_that_has_room_stays_where_its_line_ends() -> None:
    assert spread_positions([100.0, 50.0], ["x", "y"], 200.0) == [100.0, 50.0]
    assert spread_positions([100.0, 100.0], ["x", "y"], 200.0) == [100 - LINE / 2, 100 + LINE / 2]


def test_a_name_of_two_lines_has_room_for_both() -> None:
    low, high = sorted(spread_positions([100.0, 100.0], ["x\ny", "z"], 200.0))
    assert high - low == pytest.approx(1.5 * LINE)
    assert first_line(50.0, "x\ny") == 50 + LINE / 2
    assert first_line(50.0, "x") == 50


def test_names_break_after_commas_alone() -> None:
    assert wrapped("ditto, lam = 0.05, seed 0") == "ditto, lam = 0.05, seed 0"
    long = "x" * 60
    assert wrapped(f"ditto, {long}, b") == f"ditto,\n{long},\nb"
