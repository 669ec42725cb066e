"""What a model never saw in training, counted over later rows."""

import numpy as np
import pytest

from fedkin.data.tables.encoding import Category, Number, Words
from fedkin.data.tables.recipe import Column
from fedkin.data.tables.unseen_values import unseen_remarks

NAN = np.nan
AGE = Number("age", fill=40, mean=40, std=2, flag=False)
WARD = Category("ward", ("er", "icu"), rest=False, flag=False)
NOTE = Words("note", ("cough",))


def place(row: int) -> str:
    return f"line {row + 2}"


def told(features: list, cells: list, columns: list | None = None) -> list[str]:
    columns = columns or [Column(one.name) for one in features]
    return list(unseen_remarks(features, np.array(cells, np.float32), columns, place))


def test_what_is_like_training_is_not_told() -> None:
    assert (
        told([AGE, WARD], [[60, 0], [20, 1]], [Column("age"), Column("ward", ("icu", "er"))]) == []
    )


def test_numbers_far_from_the_training_mean() -> None:
    assert told([AGE], [[40], [60.5], [41], [-900]]) == [
        "column 'age': 2 rows (the first is line 3) have a number more than 10 standard deviations "
        "from the training mean of 40, up to -900"
    ]
    assert told([AGE], [[19.5]])[0].startswith("column 'age': line 2 has a number")
    as_they_are = AGE._replace(fill=0)  # not scaled: nothing is known of their spread
    assert told([as_they_are], [[9000]]) == []


@pytest.mark.parametrize(
    ("rest", "said"),
    [(False, "was never seen in training"), (True, "is none of the values that the model knows")],
)
def test_values_that_training_had_not(rest: bool, said: str) -> None:
    ward = Column("ward", ("day", "icu", "night"))
    (found,) = told([WARD._replace(rest=rest)], [[1], [0], [2], [0]], [ward])
    assert found.startswith("column 'ward': 3 rows (the first is line 3) have a value that ")
    assert said in found
    assert found.endswith(": 'day', 'night'")


def test_gaps_that_training_had_not() -> None:
    ward = Column("ward", ("icu",))
    found = told([AGE, WARD], [[NAN, 0], [40, NAN], [41, 0]], [Column("age"), ward])
    assert found == [
        "column 'age': line 2 has no value, as no training row had: its mean stands for it",
        "column 'ward': line 3 has no value, as no training row had",
    ]
    flagged = [AGE._replace(flag=True), WARD._replace(flag=True)]
    assert told(flagged, [[NAN, 0], [40, NAN]], [Column("age"), ward]) == []


def test_rows_without_anything() -> None:
    found = told([AGE._replace(flag=True), NOTE], [[40, 0], [NAN, NAN], [NAN, NAN]])
    assert found == [
        "2 rows (the first is line 3) have no value in any column: what is said of such a row is "
        "said of nobody"
    ]
