"""The leaderboard as one offline page."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from fedkin.bench.latest_searches import latest_searches, superseded
from fedkin.bench.leaderboard.charts import clients, critical, steadiness
from fedkin.bench.leaderboard.cost_charts import against_cost
from fedkin.bench.leaderboard.entries import BUDGETS, EQUAL_ROUNDS, POOLED, Entry, entries
from fedkin.bench.leaderboard.ranking import AgainstBest, against_best, order, stability
from fedkin.bench.leaderboard.standing import standings
from fedkin.bench.leaderboard.titles import titles_of
from fedkin.bench.leaderboard.twins import twins_of, unranked_notes
from fedkin.bench.leaderboard.user_methods import legend, signed, user_methods
from fedkin.bench.row import Row
from fedkin.bench.statistics import LEVEL
from fedkin.bench.suite import ALONE, BASELINES
from fedkin.core.errors import FedkinError
from fedkin.core.measures import comparable
from fedkin.report import formatting
from fedkin.report.charts.base import Figure
from fedkin.report.page.document import document, places
from fedkin.report.page.figures import content_of
from fedkin.report.page.tables import search_bar, section, table
from fedkin.runs.output_files import PAGES, write_outside


def write_page(rows: Sequence[Row], target: Path) -> Path:
    """Write the page.

    Args:
        rows: Of any suites.
        target: The path of the file, ending in .html.

    Returns:
        The same path.

    Raises:
        FedkinError: There is nothing to show, or the file cannot be written.
    """
    return write_outside(target, page(rows), PAGES)


def page(rows: Sequence[Row]) -> str:
    """The whole page.

    Args:
        rows: Of any suites.

    Returns:
        HTML, which needs no network.

    Raises:
        FedkinError: There is no finished row.
    """
    before, rows = superseded(rows), latest_searches(rows)
    board = entries(rows)
    if not board:
        raise FedkinError("there is no finished row to show")
    titles = titles_of(rows)
    drawn = figures(rows, board, titles)
    methods = len({one.method for one in board})
    parts = [
        "<h1>Leaderboard</h1>",
        f'<p class="lead">{escape(_lead(rows, board))}</p>',
        *_own(rows),
        f'<p class="soft">{escape(_about(rows, methods, before))}</p>',
        *_twins(board),
        _to_beat(rows, board, titles),
        _all(board, titles),
        *places(drawn),
        *_missing(rows, titles),
    ]
    return document("Leaderboard", ["<main>", *parts, "</main>"], content_of(drawn))


def figures(rows: Sequence[Row], board: Sequence[Entry], titles: dict[str, str]) -> list[Figure]:
    """Every chart that the rows can fill.

    Args:
        rows: Of any suites, of each method's last search.
        board: Entries of any budget.
        titles: {federation: how people call it}.

    Returns:
        In the order of the page.
    """
    ranks = [critical(order(board, budget), budget, titles) for budget in BUDGETS]
    scores = [
        *against_cost(board, "bytes", titles),
        *against_cost(board, "flops", titles),
        *clients(rows, titles),
    ]
    drawn = [*ranks, *scores, steadiness(*stability(rows, "rounds"), "rounds")]
    return [figure for figure in drawn if figure is not None]


def _lead(rows: Sequence[Row], board: Sequence[Entry]) -> str:
    """Who is best at equal rounds, on how many federations, and where training alone is worse, by
    more than chance or not: who has the same score does not beat it.
    """
    best: dict[str, str] = {}
    for federation in dict.fromkeys(one.federation for one in board):
        mine = [one for one in board if (one.federation, one.budget) == (federation, EQUAL_ROUNDS)]
        ranked = [one for one in mine if one.method != POOLED]
        if ranked:
            first = max(ranked, key=lambda one: (comparable(one.score), one.method == ALONE))
            best[federation] = first.method
    if not best:
        return "No method was run at equal rounds yet."
    worse = [name for name, method in best.items() if method != ALONE]
    surely = sum(_alone_differs(rows, board, name) for name in worse)
    won = Counter(best.values()).most_common()
    if len(best) == 1:
        chance = "by more than chance" if surely else "perhaps by chance"
        alone = f"Training alone is worse, {chance}." if worse else "Nothing beats training alone."
        return f"At equal rounds the best method is {won[0][0]}. {alone}"
    named = ", ".join(f"{name} on {count}" for name, count in won)
    return (
        f"At equal rounds the best method of each of {len(best)} federations: {named}. "
        f"Training alone is worse than it on {len(worse)}, by more than chance on {surely}."
    )


def _alone_differs(rows: Sequence[Row], board: Sequence[Entry], federation: str) -> bool:
    """Whether the best method of a federation can be told from training alone (5 %)."""
    others = _against_best(rows, board, federation, EQUAL_ROUNDS)[1]
    return any(one.method == ALONE and one.p < LEVEL for one in others)


def _against_best(
    rows: Sequence[Row], board: Sequence[Entry], federation: str, budget: str
) -> tuple[str, list[AgainstBest]]:
    """``against_best`` of the methods on the board: who failed under a seed is not compared."""
    whole = {one.method for one in board if (one.federation, one.budget) == (federation, budget)}
    return against_best([row for row in rows if row.method in whole], federation, budget)


def _own(rows: Sequence[Row]) -> list[str]:
    """What the sign means, and where the methods that are not fedkin's stand."""
    own = user_methods(row.method for row in rows)
    if not own:
        return []
    places_of = [f"<li>{escape(said)}</li>" for name in own for said in standings(name, rows)]
    listed = f"<ul>{''.join(places_of)}</ul>" if places_of else ""
    return [f'<div class="own-method"><p>{escape(legend(own))}</p>{listed}</div>']


def _about(rows: Sequence[Row], methods: int, before: int) -> str:
    suites = ", ".join(dict.fromkeys(row.suite for row in rows))
    federations = len({row.federation for row in rows})
    versions = ", ".join(sorted({row.versions.get("fedkin", "?") for row in rows}))
    return (
        f"Suite {suites}: {formatting.many(methods, 'method')} on "
        f"{formatting.many(federations, 'federation')}, {formatting.many(len(rows), 'row')}, "
        f"fedkin {versions}. Hyper-parameters were chosen on validation data, with as many trials "
        "for every method, or all that it has to try. Test data were read once." + _left_out(before)
    )


def _twins(board: Sequence[Entry]) -> list[str]:
    """Who is not in the charts of mean ranks, because another one has the same numbers."""
    said = unranked_notes(twins_of(board))
    return [f'<p class="soft">{escape(said)}</p>'] if said else []


def _left_out(before: int) -> str:
    """A sentence on the rows that the file has beside those of the page; "" where it has none."""
    if not before:
        return ""
    verb = "is" if before == 1 else "are"
    return (
        f" {formatting.many(before, 'row')} of earlier searches {verb} left out: a method's last "
        "one counts."
    )


def _to_beat(rows: Sequence[Row], board: Sequence[Entry], titles: dict[str, str]) -> str:
    """What a new method must beat, by federation and budget."""
    head = [("federation", ""), ("equal", ""), ("best", ""), ("test", "n")]
    head += [(name, "n") for name in BASELINES] + [("not distinguished from the best", "long")]
    lines = []
    for federation in dict.fromkeys(one.federation for one in board):
        for budget in BUDGETS:
            mine = [one for one in board if (one.federation, one.budget) == (federation, budget)]
            ranked = [one for one in mine if one.method != POOLED]
            if not ranked:
                continue
            best, others = _against_best(rows, board, federation, budget)
            near = [signed(one.method) for one in others if one.p >= LEVEL]
            top = next((one for one in ranked if one.method == best), ranked[0])
            base = {one.method: one for one in mine if one.method in BASELINES}
            cells: list[Any] = [titles[federation], budget, signed(top.method), _value(top)]
            cells += [_value(base[name]) if name in base else "–" for name in BASELINES]
            lines.append([*cells, ", ".join(near) or "nobody"])
    note = (
        "Means over clients and seeds. Not distinguished, at 5 % with Holm's correction for all "
        "pairs of methods: of one seed Wilcoxon's signed-rank test; of several seeds Student's t, "
        "for which seeds are a sample, and the clients of each."
    )
    return section(
        "to-beat", "What a new method must beat", note, table(head, lines, marks=[""] * len(lines))
    )


def _all(board: Sequence[Entry], titles: dict[str, str]) -> str:
    head = [("federation", ""), ("equal", ""), ("method", "method")]
    head += [("test", "n"), ("± seeds", "n"), ("on local", "n"), ("worst decile", "n")]
    head += [("helped", "n"), ("hurt", "n")]
    head += [("rounds", "n"), ("sent", "n"), ("FLOPs", "n"), ("time", "n"), ("ε", "n")]
    head += [("chosen", "long"), ("rows", "long")]
    lines = [_line(one, titles) for one in board]
    own = set(user_methods(one.method for one in board))
    marks = ["own-method" if one.method in own else "" for one in board]
    note = (
        "Choose a heading to sort; search for words, such as “digits rounds”. "
        "On local: how much better than training alone, in points of a share. Helped, hurt: "
        "shares of clients. Rows: ids for fedkin bench verify. At equal bytes and compute a cheap "
        "method may have more rounds, as its suite allows; local, which sends nothing, has the "
        "equal ones, for more would only be more training."
    )
    content = table(head, lines, marks=marks)
    return section("all", "All methods", note, content, tall=True, above=search_bar("rows"))


def _line(one: Entry, titles: dict[str, str]) -> list[Any]:
    return [
        titles[one.federation],
        one.budget,
        one.method,
        _value(one),
        (_apart(one.measure, one.spread), one.spread),
        (_apart(one.measure, one.gain, "+"), one.gain),
        (formatting.value(one.measure, one.worst_decile), one.worst_decile),
        (formatting.percent_or_dash(one.helped), one.helped),
        (formatting.percent_or_dash(one.hurt), one.hurt),
        _rounds(one.rounds),
        (formatting.size(one.bytes), one.bytes),
        (formatting.count(one.flops), one.flops),
        (formatting.seconds(one.seconds), one.seconds),
        (formatting.decimal(one.epsilon, 2), one.epsilon),
        one.hyper,
        " ".join(one.ids),
    ]


def _rounds(each: Sequence[int]) -> tuple[str, int]:
    least, most = min(each), max(each)
    return (str(least) if least == most else f"{least}–{most}"), least


def _value(one: Entry) -> tuple[str, float]:
    return formatting.value(one.measure, one.mean), one.mean


def _apart(measure: str, apart: float | None, sign: str = "") -> str:
    """A difference of two values: in points of a share, else as the measure counts."""
    if apart is None:
        return formatting.NONE
    return f"{100 * apart:{sign}.2f}" if formatting.is_share(measure) else f"{apart:{sign}.4f}"


def _missing(rows: Sequence[Row], titles: dict[str, str]) -> list[str]:
    """Who was not run, and why."""
    lines = [
        [titles[row.federation], signed(row.method), row.missing] for row in rows if row.missing
    ]
    if not lines:
        return []
    head = [("federation", ""), ("method", ""), ("why", "long")]
    return [section("missing", "Not run", "", table(head, lines))]
