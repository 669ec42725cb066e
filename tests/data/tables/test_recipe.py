"""What the columns of a table are, and whether another table has the same."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.tables.recipe import Column, same_columns

AGE, WARD, NOTE = Column("age"), Column("ward", ("icu", "er")), Column("note", ("a b",), True)


def test_values_may_differ() -> None:
    same_columns((AGE, WARD, NOTE), (AGE, Column("ward", ("x",)), NOTE), "public.csv")
    with pytest.raises(FedkinError, match="holds text in one table"):  # but not be missing
        same_columns((AGE, WARD, NOTE), (AGE, Column("ward", ()), NOTE), "public.csv")


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ((WARD, AGE, NOTE), "they are in another order"),
        ((AGE, WARD), "'note' is in one of them only"),
        ((AGE, WARD, NOTE, Column("bed")), "'bed' is in one of them only"),
        ((AGE, Column("ward"), NOTE), "column 'ward' holds text in one table and numbers in"),
        ((Column("age", ("1",)), WARD, NOTE), "column 'age' holds text in one table"),
    ],
)
def test_the_first_difference_is_named(theirs: tuple[Column, ...], said: str) -> None:
    with pytest.raises(FedkinError, match=f"^public.csv: .*{said}"):
        same_columns((AGE, WARD, NOTE), theirs, "public.csv")
