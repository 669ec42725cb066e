"""An adapter that adds nothing at first, and what of the network is frozen."""

import torch

from fedkin.core.rng import Key
from fedkin.models.build import build

SHAPE = (1, 5, 3)


def test_it_begins_as_the_network_without_its_adapter():
    model = build("dnn_adapter", SHAPE, 3, Key(4), hidden=6, adapter=2, frozen=["body."])
    assert set(model.frozen) == {"body.weight", "body.bias"}
    assert model.head is not None
    assert model.head.names == ("head.weight", "head.bias")
    w, x = model.initial, torch.rand(4, *SHAPE)
    hidden = torch.relu(x.flatten(1) @ model.frozen["body.weight"].T + model.frozen["body.bias"])
    plain = hidden @ w["head.weight"].T + w["head.bias"]
    torch.testing.assert_close(model.outputs(w, x), plain)
    moved = {**w, "adapter.up.weight": torch.ones(6, 2), "adapter.up.bias": torch.full((6,), 0.5)}
    inner = torch.relu(hidden @ w["adapter.down.weight"].T + w["adapter.down.bias"])
    adapted = hidden + inner.sum(1, keepdim=True) + 0.5
    torch.testing.assert_close(
        model.outputs(moved, x), adapted @ w["head.weight"].T + w["head.bias"]
    )
