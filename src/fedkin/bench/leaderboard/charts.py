"""The charts of the leaderboard of ranks and of clients, from its rows."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fedkin.bench.gain_over_local import gains, hurt
from fedkin.bench.leaderboard.entries import POOLED
from fedkin.bench.leaderboard.federation_menu import menu, of_federation
from fedkin.bench.leaderboard.ranking import Stability
from fedkin.bench.leaderboard.user_methods import (
    axis_of_methods,
    coloured,
    shaped,
    sign_of,
    user_methods,
    with_own,
)
from fedkin.bench.row import Row
from fedkin.bench.statistics import LEVEL, Ranked
from fedkin.bench.suite import ALONE
from fedkin.core.errors import some
from fedkin.core.measures import measure_named
from fedkin.report import formatting
from fedkin.report.charts.base import ORANGE, ROWS, Figure, figure

LINE = 18  # pixels of a method
SHOWN = 100  # names in a note: whoever is left out is named
RANKS = alt.Scale(zero=False, padding=8)
MARKS = {"low": 0.1, "quarter": 0.25, "median": 0.5, "three": 0.75, "high": 0.9}  # of gains


def critical(ranked: Ranked | None, budget: str, titles: dict[str, str]) -> Figure | None:
    """Mean ranks with bars over those that cannot be distinguished.

    Args:
        ranked: Mean ranks; None: there are none.
        budget: "rounds", "bytes" or "compute".
        titles: {federation: how people call it}.

    Returns:
        A figure, or None.
    """
    if ranked is None:
        return None
    rows: list[dict[str, Any]] = [
        {"kind": "rank", "method": name, "rank": round(rank, 4), "end": round(rank, 4)}
        for name, rank in zip(ranked.names, ranked.ranks, strict=True)
    ]
    for first, last in ranked.groups:
        rows.append(
            {
                "kind": "group",
                "method": ranked.names[first],
                "rank": ranked.ranks[first],
                "end": ranked.ranks[last],
                "last": ranked.names[last],
            }
        )
    x = alt.X("rank:Q", title="mean rank (1 is the best)", scale=RANKS)
    y = alt.Y("method:N", sort=ranked.names, title=None, axis=axis_of_methods())
    own = user_methods(ranked.names)
    base = alt.Chart(ROWS)
    bars = (
        base.transform_filter("datum.kind == 'group'")
        .mark_bar(height=4, color=ORANGE, opacity=0.7)
        .encode(x=x, x2="end:Q", y=y, tooltip=["method:N", "last:N"])
    )
    dots = (
        base.transform_filter("datum.kind == 'rank'")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=x, y=y, color=coloured(), shape=shaped(), tooltip=["method:N", "rank:Q"])
    )
    note = (
        f"Over {ranked.blocks} federations, with equal {budget}, each a mean over its seeds. "
        f"{by_chance(ranked)} Bars: mean ranks within "
        f"{ranked.difference:.2f} of the first, which cannot be distinguished (Nemenyi, 5 %)."
        f"{_left_out(ranked, titles)}{sign_of(own)}"
    )
    return figure(
        f"critical-{budget}",
        f"Ranks with their critical difference, equal {budget}",
        note,
        with_own(alt.layer(bars, dots), own),
        rows,
        max(120, LINE * len(ranked.names)),
    )


def by_chance(ranked: Ranked) -> str:
    """Whether mean ranks say more than chance does, in a sentence.

    Args:
        ranked: Mean ranks, with Friedman's test.

    Returns:
        One sentence.
    """
    differ = "differ" if ranked.p < LEVEL else "may all be alike"
    return f"Friedman: the methods {differ} (p = {ranked.p:.2g})."


def _left_out(ranked: Ranked, titles: dict[str, str]) -> str:
    """Whom and what the ranks are not of."""
    sentences = ""
    if ranked.skipped:
        gone = some([titles.get(one, one) for one in ranked.skipped], SHOWN)
        sentences += f" Not over {gone}, where too few of these methods were run."
    if ranked.without:
        sentences += f" Not ranked, for want of a federation: {some(ranked.without, SHOWN)}."
    return sentences


def clients(rows: Sequence[Row], titles: dict[str, str]) -> list[Figure]:
    """What each method gave clients beside training alone: deciles, quartiles, median; a chart for
    each measure.

    Args:
        rows: Of any suites.
        titles: {federation: how people call it}.

    Returns:
        A figure a measure.
    """
    measures = list(dict.fromkeys(row.measure for row in rows if row.clients))
    drawn = [
        _gains_in(what, [row for row in rows if row.measure == what], titles) for what in measures
    ]
    return [figure for figure in drawn if figure is not None]


def _gains_in(what: str, rows: Sequence[Row], titles: dict[str, str]) -> Figure | None:
    drawn: list[dict[str, Any]] = [
        {"federation": titles.get(federation, federation), "method": method, **_spread(gained)}
        for (federation, method), gained in _gains(rows).items()
        if gained
    ]
    if not drawn:
        return None
    names = list(dict.fromkeys(row["federation"] for row in drawn))
    of = f"of_clients_{what}"
    axis = alt.Axis(format="+~%" if formatting.is_share(what) else "+~g")
    own = user_methods(row["method"] for row in drawn)
    best_first = alt.EncodingSortField("median", order="descending")
    y = alt.Y("method:N", sort=best_first, title=None, axis=axis_of_methods())
    base = of_federation(of).encode(
        y=y, tooltip=["method:N", *(f"{name}:Q" for name in (*MARKS, "hurt"))]
    )
    label = formatting.label(what)
    x = alt.X("low:Q", title=f"gain of a client on training alone, in {label}", axis=axis)
    wide = base.mark_bar(height=3, opacity=0.5).encode(x=x, x2="high:Q", color=coloured())
    half = base.mark_bar(height=9).encode(x="quarter:Q", x2="three:Q", color=coloured())
    middle = base.mark_tick(color=ORANGE, thickness=3, size=13).encode(x="median:Q")
    zero = alt.Chart(ROWS).mark_rule(color="#777", strokeDash=[4, 3]).encode(x=alt.datum(0))
    note = (
        "At equal rounds, over all seeds. Thin: eight tenths of the clients; thick: half of them; "
        "orange: the median. Left of the dashed line a client is worse off than alone."
        f"{'' if measure_named(what).higher else f' A gain is less {label}.'}{sign_of(own)}"
    )
    count = max(sum(row["federation"] == name for row in drawn) for name in names)
    return figure(
        f"clients-{what}",
        f"What clients gain on training alone, in {label}",
        note,
        with_own(alt.layer(zero, wide, half, middle), own).add_params(menu(of, names)),
        drawn,
        max(120, LINE * count),
    )


def _gains(rows: Sequence[Row]) -> dict[tuple[str, str], list[float]]:
    """{(federation, method): each client's gain on training alone, over all seeds}."""
    alone = {
        (row.federation, row.seed): row.clients
        for row in rows
        if row.method == ALONE and "rounds" in row.budgets
    }
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.method in (ALONE, POOLED) or "rounds" not in row.budgets:
            continue
        gained = gains(row, alone.get((row.federation, row.seed), {}))
        found.setdefault((row.federation, row.method), []).extend(gained)
    return found


def _spread(gained: Sequence[float]) -> dict[str, float]:
    """The gains at ``MARKS``, and the share of clients that are worse off."""
    values = np.quantile(gained, list(MARKS.values()))
    at = {name: round(float(v), 5) for name, v in zip(MARKS, values, strict=True)}
    return {**at, "hurt": round(hurt(gained), 4)}


def steadiness(stabilities: Sequence[Stability], agree: float | None, budget: str) -> Figure | None:
    """Each method's mean rank under every seed.

    Args:
        stabilities: Mean ranks under each seed.
        agree: Kendall's W, in 0..1; None: unknown.
        budget: "rounds", "bytes" or "compute".

    Returns:
        None for one seed.
    """
    if not stabilities or len(stabilities[0].ranks) < 2:
        return None
    order = sorted(stabilities, key=lambda one: (sum(one.ranks), one.method))
    rows = [{"method": one.method, "rank": round(rank, 4)} for one in order for rank in one.ranks]
    names = [one.method for one in order]
    own = user_methods(names)
    y = alt.Y("method:N", sort=names, title=None, axis=axis_of_methods())
    x = alt.X("rank:Q", title="mean rank under a seed", scale=RANKS)
    base = alt.Chart(ROWS).encode(y=y)
    span = base.mark_rule(color="#999").encode(x=alt.X("min(rank):Q"), x2="max(rank):Q")
    dots = base.mark_point(filled=True, size=45).encode(
        x=x, color=coloured(), shape=shaped(), tooltip=["method:N", "rank:Q"]
    )
    agreement = (
        "" if agree is None else f" The seeds' orders agree by W = {agree:.2f} (1: all alike)."
    )
    note = (
        f"With equal {budget}. A point is the mean rank over federations under one seed."
        f"{agreement}{sign_of(own)}"
    )
    return figure(
        "stability",
        "How ranks change with the seed",
        note,
        with_own(alt.layer(span, dots), own),
        rows,
        max(120, LINE * len(order)),
    )
