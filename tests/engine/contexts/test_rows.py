"""Rows by their numbers."""

import numpy as np
import torch

from fedkin.core.rng import Key
from fedkin.engine.contexts.rows import drawn_batches, taken
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime


def test_rows_come_in_the_shape_of_their_numbers():
    rows = torch.arange(12).view(4, 3)
    found = taken(rows, torch.tensor([[3, 0], [1, 1]]))
    assert found.tolist() == [[[9, 10, 11], [0, 1, 2]], [[3, 4, 5], [3, 4, 5]]]


def test_tensors_are_drawn_together():
    model = build("mlr", (1, 2, 3), 4, Key(3))
    x = torch.arange(7)
    rng = np.random.default_rng(5)
    batches = drawn_batches(Runtime("never"), model, (x, 10 * x), 3, 4, rng)
    first, second = batches.gather(1, 4)
    assert first.shape == (3, 3)
    assert torch.equal(second, 10 * first)
    assert drawn_batches(Runtime("never"), model, (x,), 99, 1, rng).gather(0, 1)[0].shape == (1, 7)
