"""Partitions by class: PersFL's three, two classes a client, groups of labels."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from tests.data.partitions.registry_examples import LABELS, distinct, sizes, split


def test_persfl_ds1_same_total_four_classes_different_shares() -> None:
    for clients in (10, 25):
        part = split("persfl_ds1", clients)
        assert np.ptp(sizes(part)) == 0
        assert sizes(part).sum() > 0.9 * len(LABELS)
        assert (distinct(part) == 4).all()
        for rows, classes in zip(part.indices, part.truth["classes"], strict=True):
            np.testing.assert_array_equal(np.unique(LABELS[rows]), classes)
        spread = [
            np.ptp(np.bincount(LABELS[rows], minlength=10)[c])
            for rows, c in zip(part.indices, part.truth["classes"])
        ]
        assert np.mean(spread) > 10
        holders = np.bincount(part.truth["classes"].ravel(), minlength=10)
        assert np.ptp(holders) <= 1
    assert (distinct(split("persfl_ds1", 10, classes=7)) == 7).all()


def test_persfl_ds2_shares_every_class() -> None:
    part = split("persfl_ds2", 10)
    assert (distinct(part) >= 8).mean() > 0.8
    assert np.ptp(sizes(part)) > 20


def test_persfl_ds3_two_classes_lognormal_sizes() -> None:
    part = split("persfl_ds3", 10)
    assert (distinct(part) == 2).all()
    assert sizes(part).min() >= 10
    many = sizes(split("persfl_ds3", 40))
    assert many.max() > 20 * np.quantile(many, 0.1)
    with pytest.raises(FedkinError, match=r"class \d .*lower floor or clients"):
        split("persfl_ds3", 1000, floor=100)


@pytest.mark.parametrize("pairs", ["random", "balanced", "consecutive"])
def test_two_class(pairs: str) -> None:
    part = split("two_class", 40, low=40, high=500, pairs=pairs)
    assert (distinct(part) == 2).all()
    for rows, classes in zip(part.indices, part.truth["classes"], strict=True):
        np.testing.assert_array_equal(np.unique(LABELS[rows]), classes)
    if pairs == "consecutive":
        expected = [sorted([i % 10, (i + 1) % 10]) for i in range(40)]
        assert part.truth["classes"].tolist() == expected
    assert part.truth["asked"].min() >= 40
    assert part.truth["asked"].max() <= 500
    assert (sizes(part) <= part.truth["asked"]).all()


def test_two_class_scales_only_what_is_short() -> None:
    """Demand on a class shrinks to its pool by one factor for all its holders; others get what they
    asked for.
    """
    part = split(
        "two_class",
        10,
        low=200,
        high=200,
        pairs="consecutive",
        labels=np.repeat(np.arange(10), [100, *[300] * 9]),
    )
    labels = np.repeat(np.arange(10), [100, *[300] * 9])
    counts = np.stack([np.bincount(labels[rows], minlength=10) for rows in part.indices])
    assert counts[0, 0] == counts[9, 0] == 50
    assert (counts[1:9].sum(axis=1) == 200).all()
    alike = split(
        "two_class", 10, low=200, high=200, pairs="consecutive", labels=labels, scale="all"
    )
    assert sizes(alike).tolist() == [100] * 10


def test_two_class_sizes_are_uniform() -> None:
    asked = split("two_class", 3000, low=2, high=11, labels=np.repeat(np.arange(10), 9000)).truth[
        "asked"
    ]
    counts = np.bincount(asked, minlength=12)[2:]
    assert counts.min() > 230  # 300 each: both ends included
    assert counts.max() < 370


def test_label_groups_at_random() -> None:
    part = split("label_groups", 100)
    assert np.bincount(part.truth["group"]).tolist() == [25] * 4
    assert (np.diff(part.truth["group"]) >= 0).all()
    assert np.bincount(part.truth["class_group"]).tolist() == [3, 3, 2, 2]
    for rows, group in zip(part.indices, part.truth["group"], strict=True):
        assert set(part.truth["class_group"][LABELS[rows]]) == {group}
    for group in range(4):
        assert np.ptp(sizes(part)[part.truth["group"] == group]) <= 1


def test_label_groups_explicit() -> None:
    part = split("label_groups", 80, groups=[[2, 3, 4, 5, 6, 7], [1, 9], [0, 8]])
    assert np.bincount(part.truth["group"]).tolist() == [27, 27, 26]
    assert part.truth["class_group"].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 2, 1]
    some = split("label_groups", 4, groups=[[0], [1]])
    assert sizes(some).sum() == 600
    assert some.truth["class_group"][2] == -1


def test_persfl_ds1_refuses_a_class_without_samples() -> None:
    labels = np.arange(300) % 9 + 1
    with pytest.raises(FedkinError, match="persfl_ds1: class 0 has 0 samples"):
        split("persfl_ds1", 5, labels=labels)
