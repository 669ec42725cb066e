"""Even, sharded and natural partitions."""

import numpy as np

from fedkin.data.partitions.registry import partition
from tests.data.partitions.registry_examples import LABELS, distinct, sizes, split


def test_iid_is_even_and_random() -> None:
    part = split("iid", 7)
    assert np.ptp(sizes(part)) <= 1
    counts = np.stack([np.bincount(LABELS[rows], minlength=10) for rows in part.indices])
    assert counts.min() > 15  # about 43 of every class


def test_shards() -> None:
    part = split("shards", 15, per_client=2)
    assert (distinct(part) <= 4).all()
    assert distinct(part).mean() < 3
    assert sizes(part).tolist() == [200] * 15


def test_shards_of_a_size_leave_the_rest_unused() -> None:
    part = split("shards", 15, per_client=2, size=20)
    assert sizes(part).tolist() == [40] * 15
    assert len(np.unique(np.concatenate(part.indices))) == 600
    assert distinct(part).mean() < 3
    held = {int(c) for rows in part.indices for c in np.unique(LABELS[rows])}
    assert len(held) >= 8  # shards are drawn from all classes, not from the first ones


def test_natural() -> None:
    client = np.array(["b", "a", "c", "a", "b", "b"])
    part = partition("natural", np.arange(6), None, np.random.default_rng(0), client=client)
    assert [rows.tolist() for rows in part.indices] == [[1, 3], [0, 4, 5], [2]]
    assert part.truth["name"].tolist() == ["a", "b", "c"]
    fewer = partition("natural", np.arange(6), 2, np.random.default_rng(0), client=client)
    assert len(fewer.indices) == 2
    for rows, name in zip(fewer.indices, fewer.truth["name"], strict=True):
        assert (client[rows] == name).all()
        assert len(rows) == (client == name).sum()
