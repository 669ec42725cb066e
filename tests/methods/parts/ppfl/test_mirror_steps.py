"""Mirror steps on a membership: full ones, several of them, and one a mini-batch."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.model import Batch
from fedkin.core.ops import Batches
from fedkin.core.tree import map_tree
from fedkin.methods.parts.ppfl.canonical_models import CanonicalModels
from fedkin.methods.parts.ppfl.mirror_steps import MirrorSteps, mirror_step
from fedkin.runtime.replay import Runtime
from tests.methods.federation import CLASSES, WIDTH, architecture

C = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
PULL = torch.tensor([0.4, -0.1, 0.3], dtype=torch.float64)
P, RATE = 0.3, 0.7


def moved_by_hand(c, gradient):
    raised = c.numpy() * np.exp(-RATE * (P * gradient.numpy() + 2 * PULL.numpy()))
    return torch.from_numpy(raised / raised.sum())


def staged():
    drawn = [architecture("mlr", seed) for seed in (1, 2, 3)]
    f = CanonicalModels("all", 1, "means")
    theta = f.stacked(drawn[0].initial, [one.initial for one in drawn])
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(4, 2, WIDTH, generator=draw, dtype=torch.float64)
    y = torch.randint(CLASSES, (4, 2), generator=draw)
    stacked = Batch(x, y, torch.full((4, 2), 0.5, dtype=torch.float64))
    asked: list[str] = []

    def batches(purpose: str) -> Batches:
        asked.append(purpose)
        rows = lambda first, last: map_tree(lambda leaf: leaf[first:last], stacked)  # noqa: E731
        return Batches(Runtime("never"), drawn[0], 4, rows)

    each = [Batch(*(leaf[k] for leaf in stacked)) for k in range(4)]
    whole = [one._replace(weight=one.weight / 4) for one in each]
    data: Any = SimpleNamespace(model=drawn[0], whole=lambda split: whole, batches=batches)
    return f, theta, data, each, asked


def test_a_step_is_equation_25() -> None:
    gradient = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    found = mirror_step(C, P * gradient, PULL, RATE)
    torch.testing.assert_close(found, moved_by_hand(C, gradient))


@pytest.mark.parametrize(("steps", "count"), [("full", 1), (1, 1), (3, 3)])
def test_full_steps(steps, count) -> None:
    f, theta, data, _, asked = staged()
    expected = C
    for _ in range(count):
        expected = moved_by_hand(expected, f.full_membership_gradient(expected, theta, data))
    found = MirrorSteps(f, steps).moved(C, theta, P, PULL, RATE, data)
    torch.testing.assert_close(found, expected)
    assert asked == []


def test_one_step_a_mini_batch() -> None:
    f, theta, data, each, asked = staged()
    expected = C
    for batch in each:
        gradient = f.membership_gradient(expected, data.model, theta, batch)
        expected = moved_by_hand(expected, gradient)
    found = MirrorSteps(f, "batches").moved(C, theta, P, PULL, RATE, data)
    torch.testing.assert_close(found, expected)
    assert asked == ["membership"]
