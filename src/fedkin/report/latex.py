"""Tables of text for a paper: LaTeX, with the rules of the package booktabs."""

import re
from collections.abc import Sequence

from fedkin.core.plain import latex, plain
from fedkin.report.comparison.sheet import Sheet

HEAD = r"% by fedkin; \usepackage{booktabs} goes before \begin{document}"
MINUS = re.compile(r"(?<![\w.)])-(?=\d)")  # of a number, and not a hyphen


def tables(sheets: Sequence[Sheet], notes: Sequence[str]) -> str:
    """Each sheet as a floating table, to be included in a paper as it is.

    Args:
        sheets: In their order.
        notes: What is said below all of them: comments here, for a paper is no place for them.

    Returns:
        LaTeX; words to the left, numbers to the right.
    """
    parts = [HEAD, *map(_table, sheets)]
    comments = [f"% {plain(note)}" for note in notes]
    return "\n\n".join([*parts, *(["\n".join(comments)] if comments else [])]) + "\n"


def _table(sheet: Sheet) -> str:
    below = f". {sheet.caption[:1].upper()}{sheet.caption[1:]}" if sheet.caption else ""
    numbers = len(sheet.columns) - sheet.texts
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex(sheet.title + below)}.}}",
        rf"  \begin{{tabular}}{{{'l' * sheet.texts}{'r' * numbers}}}",
        r"    \toprule",
        _row(sheet.columns, len(sheet.columns)),
        r"    \midrule",
        *(_row(cells, sheet.texts) for cells in sheet.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str], texts: int) -> str:
    signed = [*cells[:texts], *(MINUS.sub("−", cell) for cell in cells[texts:])]
    return rf"    {' & '.join(map(latex, signed))} \\"
