"""Gradients of parameter dicts."""

import torch

from fedkin.core.model import Batch
from fedkin.core.ops import descend, full_gradient, gradient


def loss(w, batch):
    return ((w["a"] * batch.x).sum(1) * batch.weight).sum() + w["b"] ** 3


def batch(x):
    rows = torch.tensor(x)
    return Batch(rows, torch.zeros(len(x)), torch.full((len(x),), 0.5))


def test_a_step_goes_down_the_gradient():
    w = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(2.0)}
    found = gradient(loss)(w, batch([[1.0, 3.0], [5.0, -1.0]]))
    assert found["a"].tolist() == [3.0, 1.0]
    assert found["b"].item() == 12.0
    moved = descend(w, found, 0.5)
    assert moved["a"].tolist() == [-0.5, 1.5]
    assert moved["b"].item() == -4.0


def test_a_full_gradient_is_the_sum_over_batches():
    at = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(-1.0)}
    found = full_gradient(loss, at, [batch([[2.0, 4.0]]), batch([[6.0, 0.0]]), batch([[0.0, 2.0]])])
    assert found["a"].tolist() == [4.0, 3.0]
    assert found["b"].item() == 9.0
