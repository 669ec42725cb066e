"""Numbers that stand for nothing."""

import numpy as np
import pytest

from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.sentinels import sentinels

AGES = np.random.default_rng(1).integers(18, 70, 200).astype(float)


def with_some(value: float, count: int) -> ParsedColumn:
    cells = AGES.copy()
    cells[:count] = value
    return ParsedColumn("age", cells)


@pytest.mark.parametrize("value", [-1, 999, -99])
def test_it_is_found_with_its_rows_and_its_fix(value: int) -> None:
    found = sentinels([with_some(value, 7)])
    assert len(found) == 1
    assert found[0].fix == {"data.missing": {"age": [value]}}
    assert found[0].share == 7 / 200


def test_two_rows_are_no_habit_and_a_number_among_others_is_one() -> None:
    assert sentinels([with_some(-1, 2)]) == []
    assert sentinels([ParsedColumn("points", np.arange(90.0, 290.0))]) == []  # 99 is one of them


def test_words_have_none() -> None:
    assert sentinels([ParsedColumn("word", with_some(-1, 9).cells, ("a", "b"))]) == []
