"""Small HTML tables, for notebooks."""

import html
from collections.abc import Iterable, Sequence
from typing import Any


def html_table(title: str, rows: Iterable[Sequence[Any]], columns: Sequence[str] = ()) -> str:
    """A table with a title; every text is escaped.

    >>> html_table("Run", [("rounds", 3)])
    '<b>Run</b><table><tr><td>rounds</td><td>3</td></tr></table>'
    """
    head = _row("th", columns) if columns else ""
    body = "".join(_row("td", row) for row in rows)
    return f"<b>{html.escape(title)}</b><table>{head}{body}</table>"


def _row(tag: str, cells: Sequence[Any]) -> str:
    inside = "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"
