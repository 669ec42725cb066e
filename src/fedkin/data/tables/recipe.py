"""What the columns of a table are: numbers, categories or texts; and how they are to be encoded.

Apart from ``columns.py``, which reads them: what only lists data sets needs no pandas.
"""

from typing import NamedTuple

from fedkin.core.errors import FedkinError


class Column(NamedTuple):
    """``values``: () for a column of numbers; otherwise the sorted distinct cells, and a cell is an
    index into them.
    """

    name: str
    values: tuple[str, ...] = ()
    text: bool = False


class Recipe(NamedTuple):
    """How columns are to be encoded.

    ``most``: values of a column, and words of a text, that get an output each.
    """

    columns: tuple[Column, ...]
    scale: str = "standard"
    most: int = 100


def same_columns(ours: tuple[Column, ...], theirs: tuple[Column, ...], where: str) -> None:
    """Refuses another table with other columns, or the same in another order or of another kind.

    Args:
        ours: Of the private table.
        theirs: Of the public table.
        where: The public file, for messages.

    Raises:
        FedkinError: Names the first column that differs.
    """
    names, others = [c.name for c in ours], [c.name for c in theirs]
    if names != others:
        odd = next((n for n in [*names, *others] if (n in names) != (n in others)), None)
        what = "they are in another order" if odd is None else f"{odd!r} is in one of them only"
        raise FedkinError(f"{where}: its columns are not those of the private table: {what}")
    for a, b in zip(ours, theirs, strict=True):
        if bool(a.values) != bool(b.values):
            raise FedkinError(
                f"{where}: column {a.name!r} holds text in one table and numbers in the other"
            )
