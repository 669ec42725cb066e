"""A torch module as a Model: its mode, and tensors that go by two names."""

import torch
from torch import nn

from fedkin.core.model import from_module


class Tied(nn.Module):
    """What it reads with is what it writes with."""

    def __init__(self):
        super().__init__()
        self.reading = nn.Linear(4, 4, bias=False)
        self.writing = nn.Linear(4, 4, bias=False)
        self.writing.weight = self.reading.weight

    def forward(self, x):
        return self.writing(self.reading(x))


def test_a_tied_weight_is_one_parameter_in_both_places():
    model = from_module("tied", Tied())
    assert list(model.initial) == ["reading.weight"]
    w, x = {"reading.weight": 2 * torch.eye(4)}, torch.ones(3, 4)
    assert torch.equal(model.outputs(w, x), 4 * x)
    assert torch.equal(model.train_outputs(w, x), 4 * x)


def test_each_pass_has_its_mode():
    module = nn.Sequential(nn.Linear(50, 50), nn.Dropout(0.5))
    module[1].eval()  # whatever it was before
    model = from_module("dropping", module)
    x = torch.ones(20, 50)
    for _ in range(2):
        assert (model.outputs(model.initial, x) != 0).all()
        assert (model.train_outputs(model.initial, x) == 0).any()


def test_half_a_module_in_training():
    module = nn.Sequential(nn.Linear(50, 50), nn.Dropout(0.5)).eval()
    module[1].train()
    model = from_module("half", module)
    assert (model.outputs(model.initial, torch.ones(20, 50)) != 0).all()
