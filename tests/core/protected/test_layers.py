"""Layers whose gradients of samples are outer products: which they are, and that nothing else
changes.
"""

import math

import pytest
import torch
from torch.nn import functional as F

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import gradient
from fedkin.core.protected import private_gradient
from fedkin.core.protected.layers import Found
from fedkin.core.protected.sealed import Draws, sealed
from fedkin.core.tree import is_buffer

CLIP = 0.31


class Twice(torch.nn.Module):
    """Goes through one layer two times."""

    def __init__(self):
        super().__init__()
        self.again = torch.nn.Linear(5, 5)
        self.last = torch.nn.Linear(5, 3, bias=False)

    def forward(self, x):
        return self.last(torch.tanh(self.again(torch.tanh(self.again(x)))))


class Pictures(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.last = torch.nn.Conv1d(1, 2, 3), torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.last(F.relu(self.conv(x[:, None])).flatten(1))


class InPlace(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(5, 3)

    def forward(self, x):
        out = self.last(x)
        kept = torch.zeros_like(out)
        kept[:, 1:] = out[:, :2]
        return kept


MODULES = {
    "dense": lambda: torch.nn.Sequential(
        torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3, bias=False)
    ),
    "twice": Twice,
    "pictures": Pictures,
    "in place": InPlace,
}


def model_of(name):
    torch.manual_seed(3)
    return from_module(name, MODULES[name]())


def plain(w, model, batch, anchor):
    return model.loss(w, batch)


def pulled(w, model, batch, anchor):
    apart = [(w[name] - anchor[name]).square().sum() for name in w]
    return model.loss(w, batch) + 0.7 * torch.stack(apart).sum()


def mixed(w, model, batch, anchor):
    """The sample's loss, times the size of the weights: they meet outside of their layer."""
    return model.loss(w, batch) * torch.stack([v.square().sum() for v in w.values()]).sum()


def nested(w, model, batch, anchor):
    """The loss after a step of its own, as of Per-FedAvg."""
    inner = torch.func.grad(lambda v: model.loss(v, batch))(w)
    return model.loss({name: w[name] - 0.3 * inner[name] for name in w}, batch)


def public(w, model, batch, anchor):
    """The same layers see a public row: a term without samples, through weights of layers."""
    return model.loss(w, batch) + model.train_outputs(w, torch.ones(2, 5)).square().mean()


FUNCTIONS = [plain, pulled, mixed, nested, public]


def batch_of():
    rng = torch.Generator().manual_seed(7)
    x = torch.randn(6, 5, generator=rng) * torch.tensor([3.0, 0.01, 1, 1, 1, 1])[:, None]
    x[4] = math.inf
    weight = torch.tensor([0.25, 0.25, 0.25, 0.25, 0.25, 0.0])
    return Batch(x, torch.tensor([0, 2, 1, 1, 0, 2]), weight)


def found_by(function, model, clip=CLIP):
    """The private gradient at weights that are apart from the anchor."""
    w = {name: 1.1 * value + 0.02 for name, value in model.initial.items()}
    noise = {name: torch.full_like(value, 0.125) for name, value in w.items()}
    batch = sealed(batch_of(), Draws(clip, (noise,)))
    return gradient(function)(w, model, batch, model.initial), w


def one_by_one(function, model, w, clip=CLIP):
    """The definition: a gradient of each row alone, clipped; what is of no sample beside it."""
    batch = batch_of()
    nobody = Batch(torch.zeros(1, 5), torch.zeros(1, dtype=torch.int64), torch.zeros(1))
    fixed = torch.func.grad(function)(w, model, nobody, model.initial)
    total = {name: 0.125 + value for name, value in fixed.items()}
    for x, y, weight in zip(*batch, strict=True):
        if weight == 0 or not torch.isfinite(x).all():
            continue
        row = Batch(x[None], y[None], torch.ones(1))
        slope = torch.func.grad(function)(w, model, row, model.initial)
        own = {name: value - fixed[name] for name, value in slope.items()}
        norm = math.sqrt(sum(float(value.square().sum()) for value in own.values()))
        factor = float(weight) * min(1.0, clip / norm)
        total = {name: total[name] + factor * own[name] for name in total}
    return total


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_sum_of_clipped_gradients_is_the_definition(name, function):
    if (name, function) in {("in place", nested), ("twice", nested)}:
        pytest.skip("one model with a nested gradient is enough")
    model = model_of(name)
    found, w = found_by(function, model)
    expected = one_by_one(function, model, w)
    assert list(found) == [name for name in w if not is_buffer(name)]
    for key in expected:
        torch.testing.assert_close(found[key], expected[key], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize(
    ("name", "function", "layers", "beside"),
    [
        ("dense", plain, ["0.weight", "2.weight"], False),
        ("dense", pulled, ["0.weight", "2.weight"], True),
        ("dense", mixed, [], False),
        ("dense", nested, [], False),
        ("dense", public, [], False),
        ("twice", plain, ["last.weight"], False),
        ("pictures", plain, ["last.weight"], False),
        ("pictures", pulled, ["last.weight"], True),
        ("in place", plain, [], False),
    ],
)
def test_which_layers_these_are(name, function, layers, beside, monkeypatch):
    seen = []
    real = private_gradient.linear_layers

    def noting(*args):
        seen.append(real(*args))
        return seen[-1]

    monkeypatch.setattr(private_gradient, "linear_layers", noting)
    found_by(function, model_of(name))
    (found,) = seen
    assert [layer.weight for layer in found.layers] == layers
    assert found == Found(found.layers, beside)
