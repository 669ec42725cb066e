"""The cluster that a client says, who is in which one, and a newcomer in each of them."""

import pytest
import torch

from fedkin.methods.parts.clusters import (
    NOT_HEARD,
    clusters_of,
    count_of,
    in_each_cluster,
    reported_cluster,
)


def test_a_cluster_that_is_not_there_is_refused() -> None:
    assert [reported_cluster({"cluster": torch.tensor(k)}, 3) for k in range(3)] == [0, 1, 2]
    for wrong in (-1, 3, 99):
        with pytest.raises(ValueError, match=f"it chose cluster {wrong} of 0 to 2"):
            reported_cluster({"cluster": torch.tensor(wrong)}, 3)


def test_who_was_not_heard_is_in_no_cluster() -> None:
    state = {"cluster": torch.tensor([1, NOT_HEARD, 0])}
    assert clusters_of(state) == {0: 1, 2: 0}


def test_one_state_for_each_cluster() -> None:
    models = {"w": torch.zeros(3, 2, 5), "b": torch.zeros(3)}
    state = {"models": models, "cluster": torch.tensor([1, 0, 1])}
    assert count_of(models) == 3
    found = in_each_cluster(state, models)
    assert [one["cluster"].tolist() for one in found] == [
        [1, 0, 1, 0],
        [1, 0, 1, 1],
        [1, 0, 1, 2],
    ]
    assert all(one["cluster"].dtype == torch.int64 for one in found)
    assert all(one["models"] is models for one in found)
    assert state["cluster"].tolist() == [1, 0, 1]
