"""Tables of text for a paper: LaTeX, with the rules of the package booktabs."""

import re
from collections.abc import Sequence

from fedkin.core.escaping import latex, plain
from fedkin.report.comparison.sheet import Sheet

HEAD = r"% by fedkin; \usepackage{booktabs, adjustbox} goes before \begin{document}"
LABEL = 5  # words of a title, at most, in its label
MINUS = re.compile(r"(?<![\w.)])-(?=\d)")  # of a number, and not a hyphen


def tables(sheets: Sequence[Sheet], notes: Sequence[str]) -> str:
    """Each sheet as a floating table, to be included in a paper as it is.

    Args:
        sheets: In their order.
        notes: What is said below all of them: comments here, for a paper is no place for them.

    Returns:
        LaTeX; words to the left, numbers to the right. A table that is wider than the text is
        shrunk to it (package adjustbox), and a column without a word is left out. A label is made
        of the title.
    """
    labels = _labels([sheet.title for sheet in sheets])
    parts = [HEAD, *map(_table, sheets, labels)]
    comments = [f"% {plain(note)}" for note in notes]
    return "\n\n".join([*parts, *(["\n".join(comments)] if comments else [])]) + "\n"


def _labels(titles: Sequence[str]) -> list[str]:
    """What \\ref names each table by: the first words of its title, and a number where several
    begin alike.
    """
    found: list[str] = []
    for title in titles:
        words = re.findall(r"[a-z0-9]+", title.lower())[:LABEL]
        name = "-".join(["tab:fedkin", *words])
        times = sum(one == name or one.startswith(f"{name}-no") for one in found)
        found.append(f"{name}-no{times + 1}" if times else name)
    return found


def _table(sheet: Sheet, label: str) -> str:
    below = f". {sheet.caption[:1].upper()}{sheet.caption[1:]}" if sheet.caption else ""
    kept = _filled(sheet)
    texts = sum(column < sheet.texts for column in kept)
    columns = [sheet.columns[column] for column in kept]
    rows = [[cells[column] for column in kept] for cells in sheet.rows]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex(sheet.title + below)}.}}",
        rf"  \label{{{label}}}",
        r"  \begin{adjustbox}{max width=\linewidth}",
        rf"  \begin{{tabular}}{{{'l' * texts}{'r' * (len(columns) - texts)}}}",
        r"    \toprule",
        _row(columns, len(columns)),
        r"    \midrule",
        *(_row(cells, texts) for cells in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _filled(sheet: Sheet) -> list[int]:
    """The columns that have a word in at least one row, such as settings where some differ."""
    return [
        column
        for column in range(len(sheet.columns))
        if not sheet.rows or any(cells[column] for cells in sheet.rows)
    ]


def _row(cells: Sequence[str], texts: int) -> str:
    signed = [*cells[:texts], *(MINUS.sub("−", cell) for cell in cells[texts:])]
    return rf"    {' & '.join(map(latex, signed))} \\"
