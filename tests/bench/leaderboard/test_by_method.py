"""Entries at equal rounds by method, for the tables."""

from fedkin.bench.leaderboard.by_method import ByMethod, by_method
from tests.bench.made_rows import made_rows


def test_methods_are_in_the_order_of_mean_ranks() -> None:
    found = by_method(made_rows())
    ranks = found.ranks["rounds"]
    ranked = [name for name in found.scores if name in ranks]
    assert ranked == sorted(ranks, key=ranks.__getitem__)
    assert list(found.scores)[: len(ranked)] == ranked  # who has no rank stands last
    assert all(one.budget == "rounds" for own in found.scores.values() for one in own.values())
    assert {name for own in found.scores.values() for name in own} == set(found.federations)


def test_columns_of_mean_ranks_have_a_cell_for_every_head() -> None:
    found = ByMethod({}, {}, {"rounds": {"ditto": 1.25}, "bytes": {}})
    assert found.rank_heads == ["rank, equal rounds", "rank, equal bytes"]
    assert found.rank_cells("ditto", "none") == ["1.2", "none"]
