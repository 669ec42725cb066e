"""Rules in the mean's place against closed forms, and against a plain NumPy computation."""

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply, RuleContext, WeightedSum, aggregated
from fedkin.transforms import robust
from fedkin.transforms.updates import flattened


@pytest.mark.certifies("median", "trimmed_mean", "geometric_median", "krum", "law")
def test_rules_resist_what_moves_the_mean():
    honest = torch.randn(8, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    hostile = torch.full((2, 30), 1e6, dtype=torch.float64)
    both = torch.cat([honest, hostile])
    assert float(both.mean(0).abs().max()) > 1e5
    for found, _ in (
        robust.median(both),
        robust.trimmed_mean(both, 2),
        robust.geometric_median(both, 200),
        robust.krum(both, 2, 3),
    ):
        assert float(found.abs().max()) < 4


@pytest.mark.certifies("norm_bound", "closed form")
def test_a_norm_bound_shortens_updates_and_nothing_else():
    received = {"parameters": {"w": torch.tensor([10.0, 10.0]), "b": torch.tensor([1.0])}}

    def message(*moves):
        w, b = moves[:2], moves[2]
        return {"parameters": {"w": torch.tensor(w) + 10, "b": torch.tensor([b + 1])}}

    replies = {4: Reply(message(3.0, 0.0, 4.0), 2.0), 1: Reply(message(0.25, 0.0, 0.0), 6.0)}
    how = WeightedSum(steps=(robust.norm_bound(1.0),))
    found = aggregated(how, replies, lambda: RuleContext(lambda client: received, 1, None))
    expected = (2 * np.array([0.6, 0, 0.8]) + 6 * np.array([0.25, 0, 0])) / 8
    update = flattened(found.mean) - flattened(received)
    assert update.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert found.reported == {"norm_kept": {4: pytest.approx(0.2), 1: 1.0}}
