"""Columns that number or name the rows: a model learns them by heart, and no new row has them."""

import re
from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import percent
from fedkin.data.arrays import Array, Ints
from fedkin.data.quality.parsed_columns import ParsedColumn, too_long
from fedkin.data.quality.problem import Problem, toml_value
from fedkin.data.tables.duplicate_rows import same_rows

FEW = 50  # rows, up to which amounts may all differ by chance
NEARLY = 0.95  # share of the rows that have a value of their own
# Numbers from the least to the most, for each that occurs: rows are counted, amounts lie apart
DENSE = 2.0
DIGITS = (
    5  # from here on, numbers that all have the same count of digits are rather numbers of somebody
)
SENTENCE = 3.0  # words in a cell, on average, from which a column is text rather than names
WORDS = 0.5  # share of different words among rows, above which a column of words names them
NAMED = re.compile(
    r"(?i)(^|[^a-z])(id|ids|nr|no|num|number|key|uuid|guid|mrn|code|index|idx|row|record|case"
    r"|serial|unnamed)([^a-z]|$)|[a-z](Id|ID|Nr|No|Key)$"
)


def identifiers(columns: Sequence[ParsedColumn]) -> list[Problem]:
    """The columns that have another value in nearly every row, as identifiers do, repeated rows
    left aside.

    Args:
        columns: All that a model would see.

    Returns:
        One problem a column; its fix drops the column.
    """
    kept = _once(columns)
    return [problem for one in columns if (problem := _identifier(one, one.at(kept)))]


def _once(columns: Sequence[ParsedColumn]) -> Ints:
    """The first of each group of rows that are equal in all columns; all rows of a lone column,
    whose values may repeat and then number nothing.
    """
    if not columns:
        return np.empty(0, dtype=np.int64)
    if len(columns) == 1:
        return np.arange(len(columns[0].cells), dtype=np.int64)
    whole = np.stack([np.nan_to_num(one.cells, nan=-1.5e300) for one in columns], axis=1)
    whole += 0.0  # −0 is 0
    same = same_rows(whole, np.zeros(len(whole)))
    return np.sort(np.unique(same, return_index=True)[1]).astype(np.int64)


def _identifier(whole: ParsedColumn, column: ParsedColumn) -> Problem | None:
    known = column.cells[~column.missing]
    different = len(np.unique(known))
    if not len(known):
        return None
    share = different / len(known)
    drop = {"data.drop": [column.name]}
    if not column.number:
        if len(whole.cells) <= 20 or share <= WORDS:
            return None
        if np.mean([len(value.split()) for value in column.values]) >= SENTENCE:
            return Problem(
                "text",
                f"column {column.name!r} holds {different:,} different texts in "
                f"{len(whole.cells):,} rows",
                "as categories they would be learned by heart; take the words in them",
                {"data.text": [column.name]},
                share,
                (column.name,),
            )
        return Problem(
            "identifier",
            f"column {column.name!r} holds {different:,} different words in "
            f"{len(whole.cells):,} rows, as identifiers "
            "do",
            "a model would learn rows by heart; leave it out, or take its words with "
            f"data.text={toml_value([column.name])}",
            drop,
            share,
            (column.name,),
        )
    if too_long(whole):
        digits = len(str(int(np.abs(known).max())))
        return Problem(
            "identifier",
            f"column {column.name!r} holds whole numbers of {digits} digits, too long to be told "
            "apart",
            "a number keeps 15 digits or so; leave it out, or take each for a category with "
            f"data.categorical={toml_value([column.name])}",
            drop,
            1.0,
            (column.name,),
        )
    if (
        len(known) <= FEW
        or (known != np.rint(known)).any()
        or not _counts_rows(column.name, known, different)
    ):
        return None
    every = "every row" if different == len(known) else f"{percent(share)} of the rows"
    return Problem(
        "identifier",
        f"column {column.name!r} holds another whole number in {every}, as identifiers do",
        "a model would learn rows by heart, and their order where it follows the label; "
        "leave it out",
        drop,
        share,
        (column.name,),
    )


def _counts_rows(name: str, known: Array, different: int) -> bool:
    """Whether whole numbers that nearly all differ look like numbers of rows, rather
    than amounts.
    """
    step = float(np.spacing(np.abs(known).max()))  # above 1 from 2⁵³ on: neighbours are one
    apart = min(len(known), float(np.ptp(known)) / step) if step > 1 else len(known)
    if different < NEARLY * apart:
        return False
    dense = np.ptp(known) + 1 <= DENSE * max(different, len(known))
    digits = np.floor(np.log10(np.maximum(np.abs(known), 1))) + 1
    alike = digits.min() == digits.max() >= DIGITS
    return bool(dense or alike or NAMED.search(name))
