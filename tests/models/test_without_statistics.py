"""Batch norm without running statistics."""

import torch
from torch import nn

from fedkin.models.without_statistics import without_statistics


def test_layers_normalise_by_their_batch_afterwards() -> None:
    layers = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.InstanceNorm1d(3))
    net = without_statistics(layers).eval()
    assert list(net.buffers()) == []
    x = torch.tensor([[1.0, 2.0], [5.0, -3.0], [0.0, 9.0]])
    out = net[1](net[0](x))
    torch.testing.assert_close(out.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
