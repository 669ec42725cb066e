"""Who is in which cluster, and a newcomer in each of them."""

import torch

from fedkin.methods.parts.clusters import NOT_HEARD, clusters_of, in_each_cluster


def test_who_was_not_heard_is_in_no_cluster() -> None:
    state = {"cluster": torch.tensor([1, NOT_HEARD, 0])}
    assert clusters_of(state) == {0: 1, 2: 0}


def test_one_state_for_each_cluster() -> None:
    state = {"models": "kept", "cluster": torch.tensor([1, 0, 1])}
    found = in_each_cluster(state, 3)
    assert [one["cluster"].tolist() for one in found] == [
        [1, 0, 1, 0],
        [1, 0, 1, 1],
        [1, 0, 1, 2],
    ]
    assert all(one["cluster"].dtype == torch.int64 for one in found)
    assert all(one["models"] == "kept" for one in found)
    assert state["cluster"].tolist() == [1, 0, 1]
