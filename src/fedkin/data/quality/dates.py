"""Columns of dates: what they are taken for, and which of them lie after the outcome."""

import re
from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import percent
from fedkin.data.arrays import Array
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.problem import Problem

DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ].*)?", re.DOTALL
)
OUTCOME = re.compile(
    r"(?i)(outcome|event|label|target|diagnos|died|death|default|churn|failure|failed|relapse"
    r"|readmi)"
)
AFTER = re.compile(
    r"(?i)(discharge|death|died|deceased|follow.?up|resolved|resolution|closed|closing|cancel|paid"
    r"|returned|repaired|outcome|result|churned|ended|end.?date|terminated|termination|recovered"
    r"|last.?(seen|visit|contact))"
)
LATER = 0.05  # share of the rows in which a date lies after that of the outcome


def is_dates(column: ParsedColumn) -> bool:
    """Whether all words of a column are dates.

    Args:
        column: One that a model would see.

    Returns:
        False for a column of numbers.
    """
    return are_dates(column.values)


def are_dates(values: Sequence[str]) -> bool:
    """Whether all of these words are dates.

    Args:
        values: The different words of a column.

    Returns:
        False where there are none.
    """
    return bool(values) and all(DATE.fullmatch(value.strip()) for value in values)


def dates(columns: Sequence[ParsedColumn], label: str | None) -> list[Problem]:
    """Every column of dates is a fault, since each date is taken for a category; those after the
    outcome say so.

    Args:
        columns: all that a model would see.
        label: the name of the label's column, whose own date is that of the outcome.

    Returns:
        One problem a column of dates; its fix drops the column.
    """
    dated = [one for one in columns if is_dates(one)]
    outcome = next((one for one in dated if _of_the_outcome(one.name, label)), None)
    return [_problem(one, outcome) for one in dated]


def _of_the_outcome(name: str, label: str | None) -> bool:
    plain = re.sub(r"[\W_]+", " ", name).lower()
    return bool(
        OUTCOME.search(plain)
        or (label and len(label) > 2 and label.replace("_", " ").lower() in plain)
    )


def _problem(column: ParsedColumn, outcome: ParsedColumn | None) -> Problem:
    drop = {"data.drop": [column.name]}
    beginning = f"column {column.name!r} holds dates ({column.values[0]!r})"
    if outcome is not None and outcome is not column:
        ours, theirs = days(column), days(outcome)
        both = ~np.isnan(ours) & ~np.isnan(theirs)
        later = float((ours[both] > theirs[both]).mean()) if both.any() else 0.0
        if later > LATER:
            says = (
                f"{beginning}, in {percent(later)} of the rows after {outcome.name!r}, the date of "
                "the outcome"
            )
            why = "what is known only afterwards tells the outcome; leave it out"
            return Problem("after the outcome", says, why, drop, later, (column.name,))
    if column is outcome or AFTER.search(re.sub(r"[\W_]+", " ", column.name)):
        filled = float((~column.missing).mean())
        says = f"{beginning}, and its name says that it is written when the outcome is known"
        return Problem(
            "after the outcome",
            says,
            "it would tell the outcome; leave it out",
            drop,
            filled,
            (column.name,),
        )
    why = (
        "each is taken for a category; turn them into numbers (days since a first one, a "
        "month), or leave it out"
    )
    return Problem("date", beginning, why, drop, None, (column.name,))


def days(column: ParsedColumn) -> Array:
    """[n] days since 1970, nan where there is no date that is read.

    Args:
        column: One of dates.

    Returns:
        float64.
    """
    import pandas as pd

    texts = pd.Series([value.strip() for value in column.values], dtype=object)
    first = not texts.str.match(r"\d{4}").all()
    times = pd.to_datetime(texts, errors="coerce", dayfirst=first, format="mixed", utc=True)
    numbers = np.append((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1), np.nan).astype(
        np.float64
    )
    numbers_of_days: Array = numbers[
        np.where(column.missing, len(column.values), np.nan_to_num(column.cells)).astype(np.int64)
    ]
    return numbers_of_days
