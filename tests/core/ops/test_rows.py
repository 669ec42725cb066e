"""A model's outputs for many rows."""

import torch

from fedkin.core.ops import over_rows, predictions
from fedkin.core.rng import Key
from fedkin.models.build import build


def test_rows_in_parts_are_rows_at_once_in_their_order():
    model = build("mlr", (1, 2, 3), 4, Key(3))
    x = torch.rand(11, 1, 2, 3, generator=torch.Generator().manual_seed(1))
    at_once = model.outputs(model.initial, x)
    found = over_rows(lambda logits: logits, model, model.initial, x, rows=4)
    torch.testing.assert_close(found, at_once)
    shares = predictions(model, model.initial, x)
    torch.testing.assert_close(shares, torch.softmax(at_once, 1))
    assert not shares.requires_grad
