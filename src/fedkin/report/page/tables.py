"""The tables of the report page."""

from collections.abc import Mapping
from html import escape
from typing import Any

from fedkin.report import formatting
from fedkin.report.summary import other_measures

NAME, TEXT = 24, 120  # letters: a longer name is broken, a longer text has a wide column


def score_table(summary: Mapping[str, Any]) -> str:
    """The numbers over clients, for each view and each way to choose a round.

    Args:
        summary: The run's ``summary``.

    Returns:
        HTML.
    """
    what = summary["measure"]
    rows = [
        [
            view,
            name,
            formatting.at_round(numbers["round"], summary["planned"]),
            *formatting.spread(what, numbers),
            formatting.interval(what, numbers.get("interval")),
        ]
        for view, picks in summary["headline"].items()
        for pick, name in formatting.PICKS.items()
        if (numbers := picks.get(pick)) is not None
    ]
    rows += [
        [
            "baseline",
            formatting.BASELINES[name],
            "",
            *formatting.spread(what, numbers),
            formatting.interval(what, numbers["interval"]),
        ]
        for name, numbers in summary["baselines"].items()
    ]
    if not rows:
        return "<section><h2>Numbers</h2><p>Nothing was evaluated yet.</p></section>"
    note = "On the clients' test data. Weighted: by test samples. Std: over clients. "
    how = formatting.interval_method(summary["clients"])
    note += f"Interval: {how} over clients. {formatting.PRINTED}"
    columns = (*formatting.SPREADS.values(), "95% interval")
    head = [("view", ""), ("round is", "wrap"), ("round", "n"), *((name, "n") for name in columns)]
    return section(
        "numbers", f"Test {formatting.label(what)} over clients", note, table(head, rows)
    )


def measure_table(summary: Mapping[str, Any]) -> str:
    """The other measures over clients; "" where none was taken.

    Args:
        summary: The run's ``summary``.

    Returns:
        HTML, or "".
    """
    known = [
        (view, name, numbers)
        for view, measures in other_measures(summary).items()
        for name, numbers in measures.items()
    ]
    rows = [
        [view, formatting.label(name), *formatting.spread(name, numbers), str(numbers["clients"])]
        for view, name, numbers in known
    ]
    if not rows:
        return ""
    head = [
        ("view", ""),
        ("measure", ""),
        *((name, "n") for name in (*formatting.SPREADS.values(), "clients")),
    ]
    note = f"On the clients' test data, final. {formatting.others([name for _, name, _ in known])}"
    return section("measures", "Other test measures over clients", note, table(head, rows))


def communication_table(communication: Mapping[str, Any]) -> str:
    """What was sent in numbers and bytes, up and down, by both rules of counting.

    Args:
        communication: Of the run's ``summary``.

    Returns:
        HTML.
    """
    rows = []
    for name, part in (
        ("paper", communication["paper"]),
        ("unicast", communication["unicast"]),
        ("setup", communication["setup"]["unicast"]),
        ("finish", communication["finish"]["unicast"]),
    ):
        if name in ("setup", "finish") and not part["bytes"]["total"]:
            continue
        for unit, shown in (("scalars", formatting.count), ("bytes", formatting.size)):
            rows.append([name, unit, *(shown(part[unit][key]) for key in ("up", "down", "total"))])
    for kind, sent in communication["unicast"]["by_kind"].items():
        if sent["total"]:
            rows.append(
                [
                    f"unicast: {kind}",
                    "scalars",
                    *(formatting.count(sent[k]) for k in ("up", "down", "total")),
                ]
            )
    head = [("counted", ""), ("unit", ""), ("up", "n"), ("down", "n"), ("total", "n")]
    note = (
        "Paper: uplinks and one copy of what is broadcast; its scalars leave out control. "
        "Unicast: every message. "
    )
    note += "Setup and finish (unicast) are not in the totals."
    return section("communication", "Communication", note, table(head, rows))


def table(
    head: list[tuple[str, str]],
    rows: list[list[Any]],
    clients: list[str] | None = None,
    marks: list[str] | None = None,
) -> str:
    """A table in HTML. With clients or marks its headings sort.

    Args:
        head: (name, class) of each column.
        rows: Cells in the order of the columns; one that is a pair is (text, the number to sort
            by).
        clients: Names of the rows, which can then be chosen; None: they cannot.
        marks: Classes of the rows; None: they have none.

    Returns:
        HTML.
    """
    sorts = clients is not None or marks is not None
    button = ('<button type="button">', "</button>") if sorts else ("", "")
    top = "".join(
        f'<th scope="col" class="{kind}">{button[0]}{escape(name)}{button[1]}</th>'
        for name, kind in head
    )
    lines = []
    for n, row in enumerate(rows):
        mark = f' data-client="{escape(clients[n])}"' if clients is not None else ""
        mark += f' class="{marks[n]}"' if marks is not None and marks[n] else ""
        cells = "".join(
            _cell(cell, kind, k == 0, clients is not None)
            for k, (cell, (_, kind)) in enumerate(zip(row, head, strict=True))
        )
        lines.append(f"<tr{mark}>{cells}</tr>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(cell: Any, kind: str, first: bool, chosen: bool) -> str:
    """The first cell of a row names it; of clients it is a button, for who has no mouse. A long
    name is broken, and a text of some lines has a wide column: else they leave no room for numbers.
    """
    kind = "long" if first and not kind and len(str(cell)) > NAME else kind
    kind = "long text" if kind == "long" and len(str(cell)) > TEXT else kind
    style = f' class="{kind}"' if kind else ""
    if isinstance(cell, tuple):
        text, value = cell
        return f'<td{style} data-v="{"" if value is None else f"{value:.6g}"}">{escape(text)}</td>'
    text = escape(str(cell))
    if first and chosen:
        text = f'<button type="button" aria-pressed="false">{text}</button>'
    return f'<th scope="row"{style}>{text}</th>' if first else f"<td{style}>{text}</td>"


def search_bar(what: str) -> str:
    """Above a table: a field that filters its rows, and its download.

    Args:
        what: What the rows are, in the plural.

    Returns:
        HTML.
    """
    return (
        f'<p class="tools"><label>Search the {what}: <input type="search" class="filter" '
        'autocomplete="off"></label> <button type="button" class="csv">Download as CSV</button> '
        '<span class="soft count" role="status"></span></p>'
    )


def section(
    name: str,
    title: str,
    note: str,
    content: str,
    tall: bool = False,
    above: str = "",
    beside: bool = False,
) -> str:
    """A part of the page around a table, which scrolls by itself where it is large.

    Args:
        name: Its anchor.
        title: Its heading.
        note: What is to be known of it.
        content: HTML.
        tall: Whether it has a height of its own.
        above: HTML between the note and the content.
        beside: Whether it stands beside the rest, where the window is wide.

    Returns:
        HTML.
    """
    kind = "scroll tall" if tall else "scroll"
    caption = f'<p class="soft">{escape(note)}</p>' if note else ""
    place = ' class="beside"' if beside else ""
    return (
        f'<section id="{name}"{place}><h2 id="{name}-title">{escape(title)}</h2>{caption}{above}'
        f'<div class="{kind}" role="region" tabindex="0" aria-labelledby="{name}-title">'
        f"{content}</div></section>"
    )
