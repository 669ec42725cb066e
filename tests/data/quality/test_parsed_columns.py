"""Columns as faults are looked for in them."""

import numpy as np

from fedkin.data.quality.parsed_columns import ParsedColumn, parsed_columns, ranks, sampled
from fedkin.data.tables.recipe import Column


def test_free_texts_are_no_columns_and_the_others_keep_their_cells() -> None:
    columns = [Column("age"), Column("note", text=True), Column("site", ("b", "a"))]
    x = np.array([[4, 0, 1], [np.nan, 0, 0]])
    age, site = parsed_columns(columns, x)
    assert (age.name, age.number, site.values, site.number) == ("age", True, ("b", "a"), False)
    assert age.missing.tolist() == [False, True]
    assert site.cells.tolist() == [1, 0]
    assert site.at(np.array([1])).cells.tolist() == [0]
    assert site.at(np.array([1])).values == ("b", "a")


def test_a_sample_of_rows_is_ascending_without_repeats_and_the_same_each_time() -> None:
    assert sampled(5).tolist() == [0, 1, 2, 3, 4]
    few = sampled(1000, 30)
    assert few.tolist() == sorted(set(few.tolist())) == sampled(1000, 30).tolist()
    assert len(few) == 30
    assert few[-1] > 500


def test_equal_cells_have_equal_ranks_and_a_missing_one_is_the_first() -> None:
    assert ranks(np.array([7.0, np.nan, -3.0, 7.0, 0.5])).tolist() == [3, 0, 1, 3, 2]
    assert ParsedColumn("a", np.array([1.0])).at(np.array([0, 0])).cells.tolist() == [1, 1]
