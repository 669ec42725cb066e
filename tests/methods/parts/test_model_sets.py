"""Several sets of models in one message."""

import pytest
import torch

from fedkin.core.aggregation import Mean
from fedkin.methods.parts.model_sets import chosen, of_set, total_loss, transposed


def tensor(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def said(a: float, b: float) -> dict[str, object]:
    """The losses that a client sends of its choices."""
    return {"control": {"a": {"loss": tensor(a)}, "b": {"loss": tensor(b)}}}


def group(weights: dict[int, float], mean: tuple[float, float], losses: list[float]) -> Mean:
    """Clients that chose alike: set a's losses as given, set b's ten more."""
    each = {k: said(loss, loss + 10) for k, loss in zip(weights, losses, strict=True)}
    w = {"parameters": {"a": {"w": tensor(mean[0])}, "b": {"w": tensor(mean[1])}}}
    return Mean(tuple(weights), w, each, sum(weights.values()), weights=weights)


SENT = {  # (of set a, of set b) → what was sent
    (0, 1): group({0: 1.0, 3: 2.0}, (4.0, 8.0), [0.5, 0.25]),
    (1, 1): group({1: 5.0}, (6.0, 2.0), [3.0]),
}


def test_turned_twice_is_the_same() -> None:
    sets = {"a": {"parameters": 1, "cluster": 2}, "b": {"parameters": 3, "cluster": 4}}
    assert transposed(sets) == {"parameters": {"a": 1, "b": 3}, "cluster": {"a": 2, "b": 4}}
    assert transposed(transposed(sets)) == sets


def test_choices_are_in_the_order_of_the_sets_names() -> None:
    control = {"start1": {"cluster": torch.tensor(3)}, "start0": {"cluster": torch.tensor(2)}}
    assert chosen({"control": control}, 4) == (2, 3)
    with pytest.raises(ValueError, match="cluster 3 of 0 to 2"):
        chosen({"control": control}, 3)


def test_of_a_set_whose_models_were_both_chosen() -> None:
    heard = of_set(SENT, 0, "a")
    assert {group: one.clients for group, one in heard.items()} == {(0,): (0, 3), (1,): (1,)}
    assert [float(one.mean["parameters"]["w"]) for one in heard.values()] == [4.0, 6.0]
    assert [one.weight for one in heard.values()] == [3.0, 5.0]


def test_groups_that_chose_the_same_model_of_a_set_are_one() -> None:
    heard = of_set(SENT, 1, "b")
    assert list(heard) == [(1,)]
    assert heard[(1,)].clients == (0, 1, 3)
    assert float(heard[(1,)].mean["parameters"]["w"]) == pytest.approx((3 * 8 + 5 * 2) / 8)


def test_losses_count_by_the_weights_of_the_clients() -> None:
    first = 1 * 0.5 + 2 * 0.25 + 5 * 3
    assert total_loss(of_set(SENT, 0, "a")) == first
    assert total_loss(of_set(SENT, 1, "b")) == first + 8 * 10
