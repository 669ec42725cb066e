"""Walks from one start with several constants."""

import torch

from fedkin.core.model import Batch
from fedkin.core.ops import Batches, scan, scan_several
from fedkin.core.ops.abreast import ABREAST
from fedkin.core.rng import Key
from fedkin.methods.fedavg import sgd_step
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime


def test_each_walk_ends_where_it_ends_alone():
    """One more than go abreast."""
    model = build("mlr", (1, 2, 3), 4, Key(3))
    drawn = torch.Generator().manual_seed(2)
    x, y = torch.rand(5, 3, 1, 2, 3, generator=drawn), torch.arange(15).remainder(4).view(5, 3)
    weight = torch.full((5, 3), 1 / 3)
    batches = Batches(Runtime("never"), model, 5, lambda a, b: Batch(x[a:b], y[a:b], weight[a:b]))
    rates = [0.1 * (k + 1) for k in range(ABREAST + 1)]
    found = scan_several(sgd_step, model.initial, batches, [[rate] for rate in rates])
    assert len(found) == len(rates)
    for rate, ended in zip(rates, found, strict=True):
        torch.testing.assert_close(ended, scan(sgd_step, model.initial, batches, rate))
