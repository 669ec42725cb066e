"""Walks from one start with several constants."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch
from fedkin.core.ops import Batches, scan, scan_several
from fedkin.core.ops.parallel_scans import ABREAST
from fedkin.core.rng import Key
from fedkin.methods.fedavg import sgd_step
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime


def of_five_steps() -> Batches:
    model = build("mlr", (1, 2, 3), 4, Key(3))
    drawn = torch.Generator().manual_seed(2)
    x, y = torch.rand(5, 3, 1, 2, 3, generator=drawn), torch.arange(15).remainder(4).view(5, 3)
    weight = torch.full((5, 3), 1 / 3)
    return Batches(Runtime("never"), model, 5, lambda a, b: Batch(x[a:b], y[a:b], weight[a:b]))


def test_each_walk_ends_where_it_ends_alone():
    """One more than go abreast."""
    batches = of_five_steps()
    model = batches.model
    rates = [0.1 * (k + 1) for k in range(ABREAST + 1)]
    found = scan_several(sgd_step, model.initial, batches, [[rate] for rate in rates])
    assert len(found) == len(rates)
    for rate, ended in zip(rates, found, strict=True):
        torch.testing.assert_close(ended, scan(sgd_step, model.initial, batches, rate))
    assert batches.runtime.said == []


def test_a_step_that_cannot_be_stacked_goes_alone_and_the_run_says_why():
    batches = of_five_steps()
    start = batches.model.initial

    def draws(model, carry, batch, rate):
        moved = sgd_step(model, carry, batch, rate)
        return {name: leaf + 0 * torch.rand(leaf.shape) for name, leaf in moved.items()}

    for _ in range(2):
        found = scan_several(draws, start, batches, [[0.1], [0.2]])
        for rate, ended in zip((0.1, 0.2), found, strict=True):
            torch.testing.assert_close(ended, scan(sgd_step, start, batches, rate))
    (said,) = batches.runtime.said
    assert said.startswith("scans from one start run one by one: RuntimeError: vmap: ")


def test_a_mistake_of_the_step_raises_and_nothing_is_said_of_stacking():
    batches = of_five_steps()

    def fails(model, carry, batch, rate):
        raise KeyError("no such layer")

    with pytest.raises(KeyError, match="no such layer"):
        scan_several(fails, batches.model.initial, batches, [[0.1], [0.2]])

    def refuses(model, carry, batch, rate):
        calls.append(rate)
        raise FedkinError("it is refused")

    calls: list[object] = []
    with pytest.raises(FedkinError, match="it is refused"):
        scan_several(refuses, batches.model.initial, batches, [[0.1], [0.2]])
    assert len(calls) == 1
    assert batches.runtime.said == []
