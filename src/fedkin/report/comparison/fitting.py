"""A table of text that fits a terminal: where it is too wide, its numbers go on in a second one."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from fedkin.report.comparison.sheet import Sheet

BETWEEN = 3  # columns of a terminal beside each column of a table
EDGE = 1  # and beside the whole of it
FOLDED = 24  # columns that a column of words needs at most: longer words are folded


class Fitting:
    """A sheet whose numbers are never cut or folded (72.10 ± 0.83 stays on its line).

    Args:
        sheet: What is shown.
        dim: Numbers of the rows that are shown faintly.
    """

    def __init__(self, sheet: Sheet, dim: Sequence[int] = ()) -> None:
        self.sheet, self.dim = sheet, {*dim}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        groups = columns_that_fit(self.sheet, options.max_width)
        for place, columns in enumerate(groups):
            first, last = place == 0, place == len(groups) - 1
            yield self._table(columns, options.max_width, first=first, last=last)

    def _table(self, columns: Sequence[int], room: int, first: bool, last: bool) -> Table:
        sheet = self.sheet
        least = {
            column: _width(sheet, column)
            if column >= sheet.texts
            else min(_width(sheet, column), FOLDED)
            for column in columns
        }
        fits = _taken(least) <= room
        whole = {column: _whole_width(sheet, column) for column in columns}
        widths = _narrowed(whole, least, room)
        table = Table(
            title=sheet.title if first else f"{sheet.title} (continued)",
            caption=(sheet.caption or None) if last else None,
            title_justify="left",
            caption_justify="left",
            box=box.SIMPLE_HEAD,
        )
        for column in columns:
            words = column < sheet.texts
            table.add_column(
                sheet.columns[column],
                overflow="fold",
                justify="left" if words else "right",
                width=widths[column] if fits else None,
                min_width=None if fits or words else least[column],
            )
        for number, cells in enumerate(sheet.rows):
            style = "dim" if number in self.dim else None
            table.add_row(*(Text(cells[column]) for column in columns), style=style)
        return table


def columns_that_fit(sheet: Sheet, width: int) -> list[list[int]]:
    """Numbers of columns, for each table: the columns of words, and as many of numbers as fit.

    >>> wide = Sheet("", ["method", "mean", "std"], [["local", "72.10 ± 0.83", "9.1 ± 0.2"]], 1)
    >>> columns_that_fit(wide, 60), columns_that_fit(wide, 30)
    ([[0, 1, 2]], [[0, 1], [0, 2]])

    Args:
        sheet: What is shown.
        width: Of the terminal, in letters.

    Returns:
        Lists of column numbers; every table has the columns of words.
    """
    words = list(range(sheet.texts))
    start = EDGE + sum(min(_width(sheet, column), FOLDED) + BETWEEN for column in words)
    groups, used = [list(words)], start
    for column in range(sheet.texts, len(sheet.columns)):
        wanted = _width(sheet, column) + BETWEEN
        if used + wanted > width and len(groups[-1]) > len(words):
            groups, used = [*groups, list(words)], start
        groups[-1].append(column)
        used += wanted
    return groups


def _taken(widths: Mapping[int, int]) -> int:
    """The room of a table whose columns have these widths."""
    return EDGE + sum(width + BETWEEN for width in widths.values())


def _narrowed(whole: Mapping[int, int], least: Mapping[int, int], room: int) -> dict[int, int]:
    """Widths that fit into the room, where the least ones do: the widest column gives way first.
    Rich's own choice may pass the room by a few letters, and then cuts the last number.
    """
    widths = dict(whole)
    while _taken(widths) > room:
        wider = [column for column in widths if widths[column] > least[column]]
        if not wider:
            break
        widths[max(wider, key=lambda column: widths[column])] -= 1
    return widths


def _whole_width(sheet: Sheet, column: int) -> int:
    """Of the widest cell, and of the heading on one line."""
    return max(_width(sheet, column), cell_len(sheet.columns[column]))


def _width(sheet: Sheet, column: int) -> int:
    """Of the widest cell, and of the widest word of the heading."""
    words = sheet.columns[column].split() or [""]
    return max(cell_len(text) for text in [*words, *(row[column] for row in sheet.rows)])
