"""Columns that tell the label: alone, by being empty, or two of them together."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from fedkin.core.errors import percent
from fedkin.data.arrays import Array
from fedkin.data.quality.parsed_columns import ROWS, ParsedColumn, ranks, sampled
from fedkin.data.quality.predictive import (
    FEW,
    Label,
    joint,
    predicted_alone,
    predicted_by_many,
    predicted_by_values,
    predicted_together,
)
from fedkin.data.quality.problem import Problem

ALONE = 0.95  # of guessing's errors that one column removes: it is the label, or made of it
NEARLY = (
    0.80  # … or this, where it makes less than OUTDONE of the errors of all other columns together
)
OUTDONE = 0.4
PAIR = 0.95  # … or two columns together, PAIR_GAIN above the better one of them
PAIR_GAIN = 0.15
PAIR_COLUMNS, PAIR_ROWS, FIRST_ROWS, WORTH = 40, 4000, 400, 0.6  # pairs are tried on few rows first
DECIMALS = 12  # of what two columns make, beside its largest: floats have 15
RAREST = 10  # samples outside the largest class, below which chance alone may look like a leak
CHANCE = 1e-9  # that gaps fall on one label by chance
WHY = "it copies or follows from the label, and will not be known for new samples; leave it out"


def leaks(columns: Sequence[ParsedColumn], label: Label, pairs: bool = True) -> list[Problem]:
    """The leaks among columns; at most ``ROWS`` rows are looked at.

    Args:
        columns: all that a model would see.
        label: of the same rows.
        pairs: whether pairs are looked at too, and columns beside all others; that is slower.

    Returns:
        One problem for each column, or pair, that nearly tells the label.
    """
    rows = sampled(len(label.y), ROWS)
    label, columns = label._replace(y=label.y[rows]), [one.at(rows) for one in columns]
    if label.errors <= 0 or (label.classes and label.errors < RAREST):
        return []
    alone = {one.name: predicted_alone(ranks(one.cells), label) for one in columns}
    leaking = [one for one in columns if alone[one.name] >= ALONE]
    if pairs:
        leaking += _outdoing([one for one in columns if one not in leaking], alone, label)
    problems = [_problem(one, alone[one.name], label) for one in leaking]
    rest = [one for one in columns if one not in leaking]
    problems += [problem for one in rest if (problem := _gaps(one, label))]
    return problems + (list(_pairs(rest, alone, label)) if pairs else [])


def _problem(column: ParsedColumn, removed: float, label: Label) -> Problem:
    return Problem(
        "leak",
        f"column {column.name!r} alone tells the label {_how_well(removed, label)}",
        WHY,
        {"data.drop": [column.name]},
        columns=(column.name,),
        share=_right(removed, label),
    )


def _how_well(removed: float, label: Label) -> str:
    if not label.classes:
        return f"(it explains {percent(removed)} of its variance)"
    return (
        f"of {percent(_right(removed, label))} of the rows (a guess: "
        f"{percent(1 - label.errors / len(label.y))})"
    )


def _right(removed: float, label: Label) -> float:
    return removed if not label.classes else 1 - (1 - removed) * label.errors / len(label.y)


def _outdoing(
    columns: Sequence[ParsedColumn], alone: dict[str, float], label: Label
) -> list[ParsedColumn]:
    """Columns that tell nearly all of the label, and far more than all the others together."""
    outdoing = []
    for column in columns:
        if alone[column.name] < NEARLY or len(columns) < 3:
            continue
        others = np.stack([_filled(one) for one in columns if one is not column], axis=1)
        rows = sampled(len(label.y), PAIR_ROWS)
        together = predicted_by_many(others[rows], label._replace(y=label.y[rows]))
        if 1 - alone[column.name] < OUTDONE * (1 - together):
            outdoing.append(column)
    return outdoing


def _gaps(column: ParsedColumn, label: Label) -> Problem | None:
    """A column that is filled, or empty, for one label only: it is written when the outcome is
    known.
    """
    if not label.classes or not column.missing.any() or column.missing.all():
        return None
    for where, word in ((column.missing, "empty"), (~column.missing, "filled")):
        inside = np.bincount(label.y[where], minlength=label.classes)
        share = np.bincount(label.y, minlength=label.classes)[inside.argmax()] / len(label.y)
        if inside.max() == inside.sum() and share ** inside.sum() < CHANCE:
            return Problem(
                "leak",
                f"column {column.name!r} is {word} in {percent(where.mean())} of the rows, all of "
                "them of one label",
                "whether it is filled depends on the outcome; leave it out",
                {"data.drop": [column.name]},
                columns=(column.name,),
                share=float(where.mean()),
            )
    return None


def _pairs(
    columns: Sequence[ParsedColumn], alone: dict[str, float], label: Label
) -> Iterator[Problem]:
    """Two columns that tell the label together and not alone: their difference, their product,
    their combination.
    """
    rows = sampled(len(label.y), PAIR_ROWS)
    label, tried = label._replace(y=label.y[rows]), [one.at(rows) for one in columns[:PAIR_COLUMNS]]
    explained: set[str] = set()
    for a, b in combinations(tried, 2):
        if a.name in explained or b.name in explained:
            continue
        better = max(alone[a.name], alone[b.name], 0.0)
        level = max(PAIR, better + PAIR_GAIN)
        first = np.arange(min(FIRST_ROWS, len(rows)))
        worth = max(WORTH, better + PAIR_GAIN / 2)
        if level > 1 or _two(a.at(first), b.at(first), label._replace(y=label.y[first])) < worth:
            continue
        removed = _two(a, b, label)
        if removed >= level:
            explained |= {a.name, b.name}
            yield Problem(
                "leak",
                f"columns {a.name!r} and {b.name!r} together tell the label "
                f"{_how_well(removed, label)}",
                "one of them is made of the label and the other, or both follow from it; "
                "leave one out",
                {"data.drop": [b.name if alone[b.name] >= alone[a.name] else a.name]},
                columns=(a.name, b.name),
                share=_right(removed, label),
            )


def _two(a: ParsedColumn, b: ParsedColumn, label: Label) -> float:
    """The best prediction from the combination of their values, by their arithmetic, or by a tree
    on both.
    """
    codes = [ranks(a.cells), ranks(b.cells)]
    scores = [0.0]
    if (codes[0].max() + 1) * (codes[1].max() + 1) <= max(FEW, len(label.y) / 4):
        scores.append(predicted_by_values(joint(codes), label))
    if a.number and b.number:
        made = _arithmetic(_filled(a), _filled(b))
        scores += [predicted_alone(ranks(one), label) for one in made]
    if max(scores) < PAIR:
        scores.append(predicted_together(np.stack([_filled(a), _filled(b)], axis=1), label))
    return max(scores)


def _arithmetic(x: Array, y: Array) -> list[Array]:
    """Difference, sum, product and quotient, in whatever unit x and y are: rounded where floats of
    their size say no more.
    """
    with np.errstate(all="ignore"):
        products = (x * y, np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y)))
        made = [(one, np.abs([x, y]).max()) for one in (x - y, x + y)]
        made += [(one, np.abs(one).max()) for one in products]
        return [np.round(one / (most or 1.0), DECIMALS) for one, most in made]


def _filled(column: ParsedColumn) -> Array:
    """Cells without gaps: a missing one lies below all others."""
    if not column.missing.any():
        return column.cells
    known = column.cells[~column.missing]
    below = float(known.min()) - max(1.0, float(np.ptp(known))) if len(known) else 0.0
    return np.where(column.missing, below, column.cells)
