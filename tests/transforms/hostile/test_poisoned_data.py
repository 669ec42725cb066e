"""Poisoned mini-batches."""

from types import SimpleNamespace

import pytest
import torch

from fedkin.core.model import Batch
from fedkin.core.ops import Batches
from fedkin.transforms.hostile import poisoned_data


def test_labels_are_flipped_and_padding_is_not():
    batch = Batch(torch.zeros(4, 2), torch.tensor([0, 4, 1, -100]), torch.ones(4))
    assert poisoned_data.flipped(batch, 5).y.tolist() == [4, 0, 3, -100]


@pytest.mark.certifies("attack", "closed form")
def test_a_trigger_is_in_every_second_sample_with_the_target_as_label():
    x = torch.full((3, 1, 5, 6), 9, dtype=torch.uint8)
    shown = poisoned_data.backdoor(2)(Batch(x, torch.tensor([0, 1, 0]), torch.ones(3)), 4)
    assert shown.y.tolist() == [0, 2, 0]
    assert torch.equal(shown.x[::2], x[::2])
    assert int((shown.x[1] == 255).sum()) == 9
    assert bool((shown.x[1, 0, 2:, 3:] == 255).all())
    row = poisoned_data.triggered(torch.zeros(2, 7))
    assert row.tolist() == [[0, 0, 0, 0, 1, 1, 1]] * 2


def test_mini_batches_are_poisoned_with_what_lies_beside_them():
    x, y = torch.arange(12.0).reshape(2, 3, 2), torch.tensor([[0, 1, 2], [2, 2, 0]])
    stacked, beside = Batch(x, y, torch.ones(2, 3)), torch.arange(6.0).reshape(2, 3)
    batches = Batches(None, None, 2, lambda first, last: (stacked, beside))
    rest = dict.fromkeys(
        ("info", "model", "key", "public", "public_y", "decay", "secret", "rounds_before")
    )
    data = SimpleNamespace(
        **rest,
        batches=lambda *a, **k: batches,
        whole=lambda split: [stacked],
        rows=None,
        score=None,
        rank=None,
        rank_error=None,
    )
    poisoned = poisoned_data.poisoned(data, lambda batch: poisoned_data.flipped(batch, 3))
    batch, rows = poisoned.batches().gather(0, 2)
    assert batch.y.tolist() == [[2, 1, 0], [0, 0, 2]]
    assert torch.equal(batch.x, x)
    assert torch.equal(rows, beside)
    assert poisoned.whole("train")[0].y.tolist() == [[2, 1, 0], [0, 0, 2]]
    assert poisoned.whole("test")[0].y.tolist() == y.tolist()
