"""Costs as bars."""

import pytest

from fedkin.report.charts.costs import by_kind, by_part


def test_kinds_that_were_not_sent_have_no_bar() -> None:
    kinds = {
        "control": {"up": 0, "down": 0, "total": 0},
        "parameters": {"up": 70, "down": 410, "total": 480},
        "centroids": {"up": 3, "down": 0, "total": 3},
    }
    found = by_kind({"unicast": {"by_kind": kinds}})
    assert found is not None
    assert found.spec["datasets"]["rows"] == [
        {"kind": "parameters", "direction": "up", "scalars": 70},
        {"kind": "parameters", "direction": "down", "scalars": 410},
        {"kind": "centroids", "direction": "up", "scalars": 3},
        {"kind": "centroids", "direction": "down", "scalars": 0},
    ]
    assert by_kind({"unicast": {"by_kind": {"control": kinds["control"]}}}) is None


def test_what_is_left_of_the_total_is_other_and_never_below_0() -> None:
    spent = {"local": 5.0, "server": 0.5, "evaluation": None, "total": 9.0}
    found = by_part(spent)
    assert found is not None
    parts = {row["part"]: row["seconds"] for row in found.spec["datasets"]["rows"]}
    assert parts == {"local": 5.0, "server": 0.5, "evaluation": 0.0, "other": 3.5}
    more = by_part({**spent, "total": 5.0})  # side by side, parts may be more than the whole
    assert more is not None
    assert more.spec["datasets"]["rows"][-1]["seconds"] == pytest.approx(0.0)
    assert by_part({**spent, "total": None}) is None
