"""The charts of the leaderboard."""

import pytest

from fedkin.bench.leaderboard.charts import clients, critical, steadiness
from fedkin.bench.leaderboard.cost_charts import against_cost
from fedkin.bench.leaderboard.entries import POOLED, entries
from fedkin.bench.leaderboard.ranking import Stability, order, stability
from fedkin.bench.statistics import Ranked
from fedkin.bench.suite import ALONE
from tests.bench.made_rows import LEVELS, OWN, SETTINGS, made_rows, with_own_method

ROWS = made_rows()
LABELS = {row.setting: row.federation for row in ROWS}
TITLES = {LABELS[name]: name.upper() for name in SETTINGS[1:]}


def rows(figure):
    return figure.spec["datasets"]["rows"]


def test_ranks_and_bars_over_those_that_cannot_be_told_apart() -> None:
    found = Ranked(["a", "b", "c"], [1.25, 1.75, 3.0], 8, 0.003, 0.6, [(0, 1)])
    drawn = critical(found, "bytes", {})
    kinds = [(row["kind"], row["method"], row["rank"], row["end"]) for row in rows(drawn)]
    assert kinds == [
        ("rank", "a", 1.25, 1.25),
        ("rank", "b", 1.75, 1.75),
        ("rank", "c", 3.0, 3.0),
        ("group", "a", 1.25, 1.75),
    ]
    assert "Over 8 federations, with equal bytes" in drawn.note
    assert "the methods differ (p = 0.003)" in drawn.note
    assert "may all be alike" in critical(found._replace(p=0.2), "bytes", {}).note
    assert critical(None, "bytes", {}) is None


def test_the_note_names_who_is_not_ranked_and_where() -> None:
    named = ["ditto", "apfl"]
    found = Ranked(named, [1.0, 2.0], 3, 0.5, 0.6, [], ("c", "d"), ("mine/digits",))
    note = critical(found, "rounds", {"mine/digits": "Mine"}).note
    assert "Not over Mine, where too few of these methods were run." in note
    assert note.endswith("Not ranked, for want of a federation: c, d.")
    assert "Not " not in critical(found._replace(without=(), skipped=()), "rounds", {}).note


def in_two_measures():
    """The rows, of which one federation's are perplexities."""
    other = {"measure": "perplexity"}
    return [row.model_copy(update=other if row.setting == "har" else {}) for row in ROWS]


def axes(figure):
    """{title: format} of the values' axes."""
    found = {}
    for layer in figure.spec["layer"]:
        for channel in ("x", "y"):
            told = layer["encoding"].get(channel, {})
            if told.get("title"):
                found[told["title"]] = told.get("axis", {}).get("format")
    return found


def test_each_measure_has_a_chart_of_gains_with_its_own_axis() -> None:
    shares, units = clients(in_two_measures(), TITLES)
    assert axes(shares) == {"gain of a client on training alone, in accuracy": "+~%"}
    assert axes(units) == {"gain of a client on training alone, in perplexity": "+~g"}
    assert {row["federation"] for row in rows(units)} == {"HAR"}
    assert "HAR" not in {row["federation"] for row in rows(shares)}
    (mine,) = [row for row in rows(units) if row["method"] == "apfl"]
    assert mine["median"] < 0
    assert units.note.endswith("A gain is less perplexity.")


def test_gains_are_on_training_alone() -> None:
    (drawn,) = clients(ROWS, TITLES)
    found = rows(drawn)
    assert not {ALONE, POOLED} & {row["method"] for row in found}
    assert {row["method"] for row in found} == set(LEVELS) - {ALONE, POOLED}
    for row in found:
        assert row["low"] <= row["quarter"] <= row["median"] <= row["three"] <= row["high"]
        expected = LEVELS[row["method"]] - LEVELS[ALONE]
        assert row["median"] == pytest.approx(expected, abs=0.06)
        assert (row["hurt"] > 0.5) == (row["median"] < 0)
    assert clients([row for row in ROWS if row.method == ALONE], TITLES) == []


def test_ranks_under_every_seed_in_order() -> None:
    found = [Stability("b", (2.0, 2.0)), Stability("a", (1.0, 2.5)), Stability("c", (3.0, 1.0))]
    drawn = steadiness(found, 0.4321, "rounds")
    assert [row["method"] for row in rows(drawn)] == ["a", "a", "b", "b", "c", "c"]
    assert "W = 0.43 (1: all alike)" in drawn.note
    assert "W =" not in steadiness(found, None, "rounds").note
    assert steadiness([Stability("a", (1.0,))], 1.0, "rounds") is None
    assert steadiness([], None, "rounds") is None


def named_own(figure):
    """What the charts' parameter has."""
    return [one["value"] for one in figure.spec["params"] if one["name"] == "user_methods"]


def test_every_chart_knows_which_methods_are_not_fedkins_and_its_note_says_it() -> None:
    rows_too, board = with_own_method(), entries(with_own_method())
    drawn = [
        critical(order(board, "rounds"), "rounds", {}),
        *against_cost(board, "flops", TITLES),
        *clients(rows_too, TITLES),
        steadiness(*stability(rows_too, "rounds"), "rounds"),
    ]
    for figure in drawn:
        assert named_own(figure) == [[OWN]]
        assert figure.note.endswith(f" ▲ marks {OWN}, which is not one of fedkin's methods.")
    for figure in [*against_cost(entries(ROWS), "flops", TITLES), *clients(ROWS, TITLES)]:
        assert named_own(figure) == [[]]
        assert "▲" not in figure.note
