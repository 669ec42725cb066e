"""The charts of the leaderboard with scores against what they cost."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from fedkin.bench.leaderboard.entries import POOLED, Entry
from fedkin.bench.leaderboard.federation_menu import menu, of_federation
from fedkin.bench.leaderboard.user_methods import only_own, sign_of, user_methods, with_own
from fedkin.bench.suite import BASELINES
from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import BLUE, GREEN, WINE, Figure, ends_of_axis, figure
from fedkin.report.charts.pareto import against, dashed_front, mark_front, name_positions

HEIGHT = 320  # of a chart, in pixels
MARGIN = 0.1  # of the axis, below and above the points: its ends are round numbers
NEAR = 0.35  # of the axis: how long a name is on a telephone
NAMED = 12  # methods of a federation that a chart can name without names over names
RIGHT = "scale('x', datum.cost) > width / 2"  # a long name right of it would leave the chart
SIDE = f"{RIGHT} ? 'right' : 'left'"  # how a name is aligned, so that it does not
COLUMNS, UNITS = {"bytes": "bytes sent", "flops": "FLOPs"}, {"bytes": "B", "flops": ""}


def against_cost(board: Sequence[Entry], column: str, titles: dict[str, str]) -> list[Figure]:
    """Score against bytes or FLOPs, with the front of those that none beats in both: a
    chart for each measure, as an axis has one.

    Args:
        board: Entries of any budget; those of equal rounds are drawn.
        column: "bytes" or "flops".
        titles: {federation: how people call it}.

    Returns:
        A figure a measure that has two methods.
    """
    compared = [one for one in board if one.budget == "rounds" and one.method != POOLED]
    measures = list(dict.fromkeys(one.measure for one in compared))
    drawn = [
        _costs_in(what, [one for one in compared if one.measure == what], column, titles)
        for what in measures
    ]
    return [figure for figure in drawn if figure is not None]


def _costs_in(
    what: str, board: Sequence[Entry], column: str, titles: dict[str, str]
) -> Figure | None:
    rows: list[dict[str, Any]] = [
        {
            "method": one.method,
            "federation": titles.get(one.federation, one.federation),
            "cost": getattr(one, column),
            "value": round(one.mean, 5),
            "budget": one.budget,
        }
        for one in board
    ]
    if len(rows) < 2:
        return None
    names = list(dict.fromkeys(row["federation"] for row in rows))
    for name in names:
        mark_front([row for row in rows if row["federation"] == name], measure_named(what).higher)
    of = f"of_{column}_{what}"
    title, costs = f"{COLUMNS[column]}, whole run", [row["cost"] for row in rows]
    few = max(Counter(row["federation"] for row in rows).values()) <= NAMED
    for name in names:
        _spread_names([row for row in rows if row["federation"] == name], few)
    base = against(of_federation(of), title, what, costs, UNITS[column])
    own = user_methods(row["method"] for row in rows)
    label = formatting.label(what)
    named = (
        ""
        if few
        else f" Named: they, {' and '.join(BASELINES)}; point at another one for its name."
    )
    note = (
        f"At equal rounds. Green, dashed: methods that no other beats in both (Pareto).{named}"
        f"{'' if measure_named(what).higher else f' Less {label} is better.'}{sign_of(own)}"
    )
    return figure(
        f"cost-{column}-{what}",
        f"Test {label} against {COLUMNS[column]}",
        note,
        with_own(alt.layer(dashed_front(base), *_named_points(base, few)), own).add_params(
            menu(of, names)
        ),
        rows,
        HEIGHT,
    )


def _spread_names(rows: Sequence[dict[str, Any]], few: bool) -> None:
    """Give the names of one federation's points a "shift", in pixels upwards, where they would lie
    upon each other.
    """
    own = user_methods(row["method"] for row in rows)
    named = [
        row
        for row in rows
        if row["method"] not in own and (few or row["front"] or row["method"] in BASELINES)
    ]
    low, high = ends_of_axis(rows, MARGIN)
    wanted = [(row["value"] - low) / (high - low) * HEIGHT for row in named]
    places = name_positions(named, [row["cost"] for row in rows], wanted, HEIGHT, NEAR)
    for row, at, place in zip(named, wanted, places, strict=True):
        row["shift"] = round(place - at, 1)


def _named_points(base: alt.Chart, few: bool) -> list[alt.Chart]:
    """Methods as points with names: a dot of each that is fedkin's, named where it is on the front
    or where there are few, and above them a triangle of each that is not.
    """
    told = ["method:N", "value:Q", alt.Tooltip("cost:Q", format=".4s")]
    dots = (
        only_own(base, False)
        .mark_circle(size=80, opacity=0.8)
        .encode(color=alt.condition("datum.front", alt.value(GREEN), alt.value(BLUE)), tooltip=told)
    )
    names_of = (
        only_own(base, False)
        .transform_filter(
            "true" if few else f"datum.front || indexof({list(BASELINES)}, datum.method) >= 0"
        )
        .mark_text(
            align=alt.expr(SIDE),
            dx=alt.expr(f"{RIGHT} ? -7 : 7"),
            dy=alt.expr("-5 - datum.shift"),
            fontSize=11,
            color="#777",
        )
        .encode(text="method:N")
    )
    mine = (
        only_own(base)
        .mark_point(filled=True, shape="triangle-up", size=150, color=WINE, opacity=1)
        .encode(tooltip=told)
    )
    names_of_mine = (
        only_own(base)
        .mark_text(
            align=alt.expr(SIDE),
            dx=alt.expr(f"{RIGHT} ? -9 : 9"),
            dy=7,
            fontSize=12,
            fontWeight="bold",
            color=WINE,
        )
        .encode(text="method:N")
    )
    return [dots, names_of, mine, names_of_mine]
