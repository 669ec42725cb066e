"""Columns that tell the label, alone, by their gaps, or two together."""

import warnings

import numpy as np
import pytest

from fedkin.data.quality.leaks import leaks
from fedkin.data.quality.parsed_columns import ParsedColumn
from fedkin.data.quality.predictive import Label

RNG = np.random.default_rng(4)
Y = RNG.integers(0, 2, 500)
LABEL = Label(Y, 2)
AGE = ParsedColumn("age", RNG.normal(size=500) + 0.3 * Y)


def test_a_copy_with_few_mistakes_is_a_leak_and_a_weak_hint_is_none() -> None:
    copy = ParsedColumn("outcome", np.where(np.arange(500) < 5, 1 - Y, Y).astype(float))
    found = leaks([AGE, copy], LABEL)
    assert [one.columns for one in found] == [("outcome",)]
    assert found[0].fix == {"data.drop": ["outcome"]}
    assert found[0].share is not None
    assert 0.97 < found[0].share < 1


def test_gaps_alone_may_tell_it() -> None:
    gaps = ParsedColumn("left on", np.where(Y == 1, np.nan, RNG.normal(size=500)))
    assert [one.columns for one in leaks([AGE, gaps], LABEL, pairs=False)] == [("left on",)]


def test_two_columns_whose_difference_is_the_label() -> None:
    first = RNG.integers(0, 2, 500)
    pair = [
        ParsedColumn("before", first.astype(float)),
        ParsedColumn("after", (first ^ Y).astype(float)),
    ]
    assert [set(one.columns) for one in leaks([AGE, *pair], LABEL)] == [{"before", "after"}]
    assert leaks([AGE, *pair], LABEL, pairs=False) == []


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1.0, 1e30])
def test_two_columns_are_found_in_any_unit_and_nothing_is_warned_of(unit: float) -> None:
    rng = np.random.default_rng(5)
    width, height = rng.uniform(1, 9, (2, 600))
    pair = [ParsedColumn("width", width * unit), ParsedColumn("height", height * unit)]
    tiny = ParsedColumn("tiny", RNG.normal(size=600) * 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for label in (width - height, width / height):
            found = leaks([tiny, *pair], Label(label, 0))
            assert [set(one.columns) for one in found] == [{"width", "height"}]
        if unit > 1e-300:  # a product of which no float can say
            found = leaks(pair, Label(width * height, 0))
            assert [set(one.columns) for one in found] == [{"width", "height"}]


def test_too_few_of_the_rare_class_prove_nothing() -> None:
    rare = np.zeros(500, dtype=int)
    rare[:9] = 1
    assert leaks([ParsedColumn("same", rare.astype(float))], Label(rare, 2)) == []
