"""Columns that mean something else at one client."""

import time

import numpy as np

from fedkin.data.quality.drift import drifting
from fedkin.data.quality.parsed_columns import ParsedColumn

NAMES = ("c2", "c10", "c1", "c7", "c4")
RNG = np.random.default_rng(3)
OWNER = RNG.permutation(np.repeat(np.arange(5), [20, 12, 31, 15, 24]))


def column(change: dict[int, float], scale: float = 1.0) -> ParsedColumn:
    cells = RNG.normal(size=len(OWNER))
    for client, by in change.items():
        cells[client == OWNER] = cells[client == OWNER] * scale + by
    return ParsedColumn("height", cells)


def test_the_client_with_another_unit_is_named() -> None:
    found = drifting([column({1: 100.0})], OWNER, NAMES)
    assert [one.kind for one in found] == ["drift"]
    assert "(c10)" in found[0].says
    assert found[0].share == 0.2


def test_clients_that_merely_differ_are_left_in_peace() -> None:
    assert drifting([column({k: 8.0 * k for k in range(5)})], OWNER, NAMES) == []
    assert drifting([column({})], OWNER, NAMES) == []


def test_a_column_that_is_empty_at_one_client_or_holds_other_words_there() -> None:
    empty = column({})
    empty.cells[OWNER == 3] = np.nan
    words = ParsedColumn("site", (OWNER == 4) * 2.0 + RNG.integers(0, 2, len(OWNER)), tuple("abcd"))
    found = drifting([empty, words], OWNER, NAMES)
    assert ["empty at" in found[0].says, "no other client" in found[1].says] == [True, True]
    assert ["(c7)" in found[0].says, "(c4)" in found[1].says] == [True, True]


def test_few_rows_say_nothing() -> None:
    assert drifting([column({1: 100.0}).at(np.arange(25))], OWNER[:25], NAMES) == []


def test_many_different_words_take_no_square_of_them() -> None:
    """Every row has a word of its own, as identifiers do."""
    owner = np.repeat(np.arange(10), 2000)
    words = ParsedColumn("id", np.arange(20_000) * 1.0, tuple(map(str, range(20_000))))
    began = time.process_time()
    assert drifting([words], owner, [f"c{k}" for k in range(10)]) == []
    assert time.process_time() - began < 1.0
