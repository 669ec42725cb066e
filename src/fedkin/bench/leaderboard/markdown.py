"""The leaderboard as tables in Markdown."""

import textwrap
from collections.abc import Mapping, Sequence
from statistics import fmean

from fedkin.bench.latest_searches import latest_searches
from fedkin.bench.leaderboard.by_method import by_method
from fedkin.bench.leaderboard.charts import by_chance
from fedkin.bench.leaderboard.entries import BUDGETS, Cost, Entry, entries, times
from fedkin.bench.leaderboard.ranking import order
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.leaderboard.twins import twins_of, unranked_notes
from fedkin.bench.leaderboard.user_methods import legend, signed, user_methods
from fedkin.bench.row import Row
from fedkin.bench.suite import SHARED
from fedkin.core import escaping
from fedkin.methods import METHODS
from fedkin.methods.needs import needs_of
from fedkin.report import formatting

WIDTH = 100  # letters of a line
PUBLIC = "°"  # after a method that learns from a public set


def markdown(rows: Sequence[Row]) -> str:
    """One row a method: its mean rank under each budget; at equal rounds what it sends and
    computes beside fedavg, the mean gain on local, clients hurt, and the score by federation.
    By mean rank at equal rounds; who has none, by how many federations it has and its score.
    A budget without ranks, as of one federation, has no column of them.

    Args:
        rows: Of any suites.

    Returns:
        A table; shares of clients in per cent.
    """
    found = by_method(latest_searches(rows))
    columns = (_cell(title) for title in found.federations.values())
    head = ["method", *found.rank_heads, "bytes", "compute", "on local", "hurt", *columns]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    baseline = found.scores.get(SHARED, {})
    for name, own in found.scores.items():
        cells = [_named(name), *found.rank_cells(name, formatting.NONE)]
        cells += [_times(own, baseline, "bytes"), _times(own, baseline, "flops")]
        cells += _cells(own, list(found.federations))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def notes(rows: Sequence[Row]) -> str:
    """What the table's signs, costs and mean ranks are, and whether ranks say more than chance.

    Args:
        rows: Of any suites.

    Returns:
        A paragraph; "" without rows.
    """
    rows = latest_searches(rows)
    every = entries(rows)
    methods = list(dict.fromkeys(one.method for one in every))
    said = [_costs(methods), _public(methods), *(_mean_ranks(every, one) for one in BUDGETS)]
    said += [_unranked(every), _cell(unranked_notes(twins_of(every))), _processors(rows)]
    paragraph = textwrap.fill(" ".join(filter(None, said)), WIDTH)
    return f"{paragraph}\n" if paragraph else ""


def own_named(rows: Sequence[Row]) -> str:
    """What the sign of methods that are not fedkin's means; "" where all are fedkin's.

    Args:
        rows: Of any suites.

    Returns:
        A sentence, or "".
    """
    own = user_methods(row.method for row in rows)
    return f"{_cell(legend(own))}\n" if own else ""


def not_run(rows: Sequence[Row]) -> str:
    """The list under the table: whoever was not run, where, and why; "" of nobody.

    Args:
        rows: Of any suites.

    Returns:
        A list, or "".
    """
    rows = latest_searches(rows)
    titles = titles_of(rows)
    lines = [
        f"- {_named(row.method)} on {_cell(titles[row.federation])}: {_cell(row.missing)}"
        for row in rows
        if row.missing
    ]
    return "\n".join(["Not run:", "", *lines, ""]) if lines else ""


def _mean_ranks(every: Sequence[Entry], budget: str) -> str:
    """What a budget's mean ranks are over; "" of none."""
    ranked = order(every, budget)
    if ranked is None:
        return ""
    over = f"{formatting.many(len(ranked.names), 'method')} over {ranked.blocks} federations"
    return f"Mean ranks at equal {budget} are of {over}. {by_chance(ranked)}"


def _unranked(every: Sequence[Entry]) -> str:
    """Why there are no mean ranks, as of a single federation; "" where there are some."""
    if not every or any(order(every, budget) for budget in BUDGETS):
        return ""
    return (
        "There are no mean ranks, which take two methods or more on two federations or more: "
        "methods are in the order of how many federations they have, then of their scores."
    )


def _costs(methods: Sequence[str]) -> str:
    if SHARED not in methods:
        return ""
    return (
        f"Bytes and compute: a method's messages and FLOPs beside {SHARED}'s in as many rounds, "
        "geometric mean over its federations."
    )


def _public(methods: Sequence[str]) -> str:
    """Who learns from samples that the others lack."""
    if not any(map(_learns_from_public, methods)):
        return ""
    return f"{PUBLIC} learns from a public set, which is held out of everybody's data."


def _processors(rows: Sequence[Row]) -> str:
    """Where methods of one federation were run on different machines."""
    by: dict[str, set[str]] = {}
    for row in rows:
        by.setdefault(row.federation, set()).add(row.machine.get("processor", "unknown"))
    mixed = {name: found for name, found in by.items() if len(found) > 1}
    if not mixed:
        return ""
    names = ", ".join(sorted(set().union(*mixed.values())))
    return (
        f"The rows of {formatting.many(len(mixed), 'federation')} are of different processors "
        f"({_cell(names)}), whose last bits differ: a small difference between two methods may be "
        "one between machines."
    )


def _learns_from_public(method: str) -> bool:
    """False of a method that is not fedkin's: rows do not say what it needs."""
    needs = needs_of(method) if method in METHODS else None
    return needs is not None and needs.public != "none"


def _cells(by: Mapping[str, Entry], federations: Sequence[str]) -> list[str]:
    """A method's gain on local, the clients it hurts, and its score by federation."""
    mine = list(by.values())
    cells = [
        formatting.value(by[name].measure, by[name].mean) if name in by else formatting.NONE
        for name in federations
    ]
    # a mean of points and of units would say nothing
    shares = all(formatting.is_share(one.measure) for one in mine)
    gains = [one.gain for one in mine if one.gain is not None and shares]
    hurt = [one.hurt for one in mine if one.hurt is not None]
    gain = f"{100 * fmean(gains):+.1f}" if gains else formatting.NONE
    lost = formatting.percent_or_dash(fmean(hurt)) if hurt else formatting.NONE
    return [gain, lost, *cells]


def _times(by: Mapping[str, Entry], baseline: Mapping[str, Entry], what: Cost) -> str:
    """How many times as much as fedavg."""
    found = times(by, baseline, what)
    return formatting.NONE if found is None else f"{found:.2g} ×"


def _named(method: str) -> str:
    """Bold with a sign before it where it is not fedkin's; a sign after it where it learns from a
    public set.
    """
    if user_methods([method]):
        return f"**{_cell(signed(method))}**"
    return _cell(method) + (PUBLIC if _learns_from_public(method) else "")


def _cell(text: str) -> str:
    """Somebody's text within a row of a Markdown table."""
    return escaping.markdown(text).replace("|", "\\|")
