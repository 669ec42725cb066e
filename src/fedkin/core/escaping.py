"""Escaping: strings that anybody may have written, on their way to a person; the one place where
they are made harmless.

A client's name, a column, a label, a node's error may hold a terminal's commands, marks that turn
the direction of writing, or the markup of the page that they are put into.
"""

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

# what moves a cursor, renames a window or hides text: C0 and C1 controls, marks of direction, lone
# surrogates
COMMANDS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
HIDDEN = re.compile(rf"\\[bfnrtu]|{COMMANDS.pattern}")  # of JSON text: the same, or what becomes it
FORMULA = re.compile(r"[\s\0]*[=+\-@]")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|[+-]?(inf|nan)", re.IGNORECASE)


def plain(text: str) -> str:
    """One line of a text, with what a terminal would obey made visible.

    >>> plain("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb c'

    Args:
        text: Anybody's.

    Returns:
        Without control characters and changes of direction.
    """
    return COMMANDS.sub(_shown, text)


def plain_lines(text: str) -> str:
    """The same of a text with lines and tabs of its own.

    Args:
        text: Of any origin.

    Returns:
        The text.
    """
    return "\n".join("\t".join(map(plain, line.split("\t"))) for line in text.split("\n"))


def plain_values(value: Any) -> Any:
    """A JSON value with every string in it ``plain``.

    Args:
        value: As ``json`` reads it.

    Returns:
        A copy.

    Raises:
        RecursionError: It is too deep.
    """
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(key)): plain_values(item) for key, item in value.items()}
    return [plain_values(item) for item in value] if isinstance(value, list) else value


def as_json(text: str) -> str:
    """JSON text of the same value, with what a terminal would obey written by its number.

    Args:
        text: JSON.

    Returns:
        Text that parses to the same value.
    """

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}"

    return COMMANDS.sub(shown, text)


WWW = re.compile(r"(www)\.", re.IGNORECASE)


def markdown(text: str) -> str:
    """A text within a page of Markdown: no tag, no picture from elsewhere, no link of its own.

    >>> markdown("<img src=x>![a](http://b)")
    '&lt;img src=x>![a]\\\\(http:\\\\//b)'

    Args:
        text: Anybody's.

    Returns:
        In one line.
    """
    text = plain(text).replace("<", "&lt;").replace("](", "]\\(").replace("][", "]\\[")
    return WWW.sub(r"\1\\.", text.replace("://", ":\\//"))  # which sites make links of


# what LaTeX reads as a command or a ligature, and signs of fedkin's tables that pdflatex does not
# know; brackets and a star, for they are options of the command that ends a row
LATEX = str.maketrans(
    {
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        **{mark: f"{{{mark}}}" for mark in "[]*`'\""},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "…": r"\ldots{}",
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "→": r"$\to$",
        "√": r"$\surd$",
        "ε": r"$\varepsilon$",
        "δ": r"$\delta$",
        "λ": r"$\lambda$",
    }
)
DASHES = re.compile("-(?=-)")  # two of them would be one long one


def latex(text: str) -> str:
    """A text within a page of LaTeX: no command, no comment, no end of a cell or a row.

    >>> print(latex("50 % of a_b & c"))
    50 \\% of a\\_b \\& c

    Args:
        text: Anybody's.

    Returns:
        In one line.
    """
    return DASHES.sub("-{}", plain(text).translate(LATEX))


def cell(text: str) -> str:
    """A text as a cell of a CSV file that a spreadsheet may open: what it would take for a formula
    begins with a quote.

    >>> cell("=1+1"), cell("-3.5"), cell("- none")
    ("'=1+1", '-3.5', "'- none")

    Args:
        text: Anybody's.

    Returns:
        The text, or the same after a quote.
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _shown(match: re.Match[str]) -> str:
    mark = match[0]
    if mark in "\n\r\t":
        return " "
    return f"\\x{ord(mark):02x}" if ord(mark) < 256 else f"\\u{ord(mark):04x}"


def html_table(title: str, rows: Iterable[Sequence[Any]], columns: Sequence[str] = ()) -> str:
    """A table with a title; every text is escaped.

    >>> html_table("Run", [("rounds", 3)])
    '<b>Run</b><table><tr><td>rounds</td><td>3</td></tr></table>'

    Args:
        title: What stands above it.
        rows: Cells, of any type.
        columns: Names of the columns; none: no head.

    Returns:
        HTML for a notebook.
    """
    head = _html_row("th", columns) if columns else ""
    body = "".join(_html_row("td", row) for row in rows)
    return f"<b>{html.escape(title)}</b><table>{head}{body}</table>"


def _html_row(tag: str, cells: Sequence[Any]) -> str:
    inside = "".join(f"<{tag}>{html.escape(plain(str(cell)))}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"
