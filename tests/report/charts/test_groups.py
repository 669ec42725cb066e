"""What the groups that a method found have in common: their members' labels."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedkin.report.charts import groups as module
from fedkin.report.charts.groups import groups_and_labels
from fedkin.report.collaboration import Groups

RUN = SimpleNamespace(name=lambda k: f"s{k}")
SHARES = {
    4: np.array([0.8, 0.2]),
    1: np.array([0.6, 0.4]),
    2: np.array([0.1, 0.9]),
    7: np.array([0.5, 0.5]),
}
LABELS = ["ill", "well"]


def test_a_row_is_the_mean_of_its_members() -> None:
    groups = Groups("cluster", {4: 0, 1: 0, 2: 3, 9: 3})  # of 9 no data are known
    drawn = groups_and_labels(RUN, groups, SHARES, LABELS)
    rows = drawn.spec["datasets"]["rows"]
    assert [(row["group"], row["label"], row["share"]) for row in rows] == [
        ("cluster 0 (2 clients)", "ill", 0.7),
        ("cluster 0 (2 clients)", "well", 0.3),
        ("cluster 3 (1 client)", "ill", 0.1),
        ("cluster 3 (1 client)", "well", 0.9),
    ]
    assert drawn.own.values["s4"] == [["cluster 0 (2 clients)", "ill"]]
    assert drawn.own.values["s2"] == [["cluster 3 (1 client)", "well"]]
    assert "s9" not in drawn.own.values


def test_how_much_the_groups_explain_is_said() -> None:
    alike = {4: SHARES[4], 1: SHARES[4], 2: SHARES[2]}
    drawn = groups_and_labels(RUN, Groups("group", {4: 0, 1: 0, 2: 1}), alike, LABELS)
    assert "100.00 % of the differences" in drawn.note
    one = groups_and_labels(RUN, Groups("group", {4: 0, 1: 0}), alike, LABELS)
    assert "of the differences" not in one.note


def test_of_many_groups_the_largest_are_shown(monkeypatch) -> None:
    monkeypatch.setattr(module, "GROUPS", 2)
    groups = Groups("cluster", {4: 5, 1: 5, 2: 2, 7: 10})
    drawn = groups_and_labels(RUN, groups, SHARES, LABELS)
    heads = list(dict.fromkeys(row["group"] for row in drawn.spec["datasets"]["rows"]))
    assert [head.split()[1] for head in heads] == ["5", "10"]  # one of two equals, in order
    assert "The 2 largest of 3 are shown." in drawn.note


@pytest.mark.parametrize("known", [{}, {99: np.array([1.0, 0.0])}])
def test_without_labels_there_is_no_chart(known) -> None:
    assert groups_and_labels(RUN, Groups("cluster", {4: 0}), known, LABELS) is None
