"""Charts of scores against costs."""

import json
from itertools import combinations

import pytest

from fedkin.bench.leaderboard.cost_charts import against_cost
from fedkin.bench.leaderboard.entries import POOLED, entries
from tests.bench.leaderboard.test_charts import LABELS, ROWS, TITLES, axes, in_two_measures, rows
from tests.bench.made_rows import SETTINGS, with_own_method


def test_costs_are_at_equal_rounds_and_pooling_has_none() -> None:
    (drawn,) = against_cost(entries(ROWS), "bytes", TITLES)
    found = rows(drawn)
    assert {row["budget"] for row in found} == {"rounds"}
    assert POOLED not in {row["method"] for row in found}
    assert {row["federation"] for row in found} == {LABELS[SETTINGS[0]], *TITLES.values()}
    for name in {row["federation"] for row in found}:
        best = max((row for row in found if row["federation"] == name), key=lambda r: r["value"])
        assert best["front"]
    assert against_cost(entries(ROWS)[:1], "bytes", TITLES) == []


@pytest.mark.parametrize(("most", "all_named"), [(12, True), (2, False)])
def test_a_few_methods_all_have_their_names(monkeypatch, most, all_named) -> None:
    monkeypatch.setattr("fedkin.bench.leaderboard.cost_charts.NAMED", most)
    (drawn,) = against_cost(entries(ROWS), "bytes", TITLES)
    assert ("Named: they, local and fedavg" in drawn.note) != all_named
    spec = json.dumps(drawn.spec)
    assert ("datum.front || indexof(" in spec) != all_named


def test_each_measure_has_a_chart_of_costs_with_its_own_axis_and_its_own_best() -> None:
    shares, units = against_cost(entries(in_two_measures()), "bytes", TITLES)
    assert axes(shares)["mean test accuracy"] == "~%"
    assert axes(units)["mean test perplexity"] is None
    assert {row["federation"] for row in rows(units)} == {"HAR"}
    assert "HAR" not in {row["federation"] for row in rows(shares)}
    best = min(rows(units), key=lambda row: row["value"])
    assert best["front"]
    assert best["method"] == "fedavg"
    assert units.note.endswith("Less perplexity is better.")
    assert shares.name != units.name
    assert units.title == "Test perplexity against bytes sent"


def test_in_the_charts_of_costs_it_is_a_triangle_with_its_name() -> None:
    (drawn,) = against_cost(entries(with_own_method()), "bytes", TITLES)
    is_marked = "indexof(user_methods, datum.method) >= 0"
    own = [
        layer["mark"]
        for layer in drawn.spec["layer"]
        if layer.get("transform", [{}])[-1].get("filter") == is_marked
    ]
    assert [(mark["type"], mark.get("shape")) for mark in own] == [
        ("point", "triangle-up"),
        ("text", None),
    ]


def test_names_of_points_with_about_one_score_are_a_line_apart() -> None:
    (first, *others) = [one for one in entries(ROWS) if one.budget == "rounds"][:4]
    names = ("fedper", "fedrep", "fedbabu")
    alike = [first._replace(method=name, bytes=1000 + k) for k, name in enumerate(names)]
    (drawn,) = against_cost(
        [*alike, *(one for one in others if one.method not in names)], "bytes", TITLES
    )
    shifts = [row["shift"] for row in rows(drawn) if row["method"] in names]
    assert len(shifts) == 3
    assert all(abs(a - b) >= 12.9 for a, b in combinations(shifts, 2))
    assert "datum.shift" in json.dumps(drawn.spec)
