"""Convolutions with their channels last: the same step, and every picture in that order."""

import pytest
import torch
from torch import nn
from torch.fx import Interpreter

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import fill, leaves, map_tree
from fedkin.models.build import build
from fedkin.runtime.channels_last import with_channels_last
from fedkin.runtime.cuda_graph import with_constants_there
from fedkin.runtime.device import CPU
from fedkin.runtime.replay import _operations

ATEN = torch.ops.aten
TAKE = {ATEN.convolution.default: (0, 1), ATEN.convolution_backward.default: (1, 2)}


class Watching(Interpreter):
    """Counts what enters convolutions, by whether it has its channels last."""

    def __init__(self, graph):
        super().__init__(graph)
        self.entered = {True: 0, False: 0}

    def call_function(self, target, args, kwargs):
        for place in TAKE.get(target, ()):
            given = args[place]
            self.entered[given.is_contiguous(memory_format=torch.channels_last)] += 1
        return super().call_function(target, args, kwargs)


def recorded(model, x):
    """A step's operations, and its arguments' leaves."""
    rows = len(x)
    batch = Batch(x, torch.arange(rows) % 3, torch.full((rows,), 1 / rows))
    given = (model.initial, batch, torch.tensor(0.1))
    flat = leaves(given)
    return _operations(lambda *flat: leaves(sgd_step(model, *fill(given, iter(flat)))), flat), flat


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["cnn_comet", "vgg11", "resnet18"])
def test_a_step_is_the_same_and_takes_every_picture_with_its_channels_last(name):
    torch.manual_seed(0)
    model = build(name, (3, 32, 32), 10, Key(0))
    model = model._replace(initial=map_tree(lambda leaf: leaf.double(), model.initial))
    graph, flat = recorded(model, torch.rand(8, 3, 32, 32))
    with torch.inference_mode():
        expected = graph(*flat)
        watching = Watching(with_channels_last(with_constants_there(graph, CPU)))
        found = watching.run(*flat)
    assert watching.entered[True] >= 4
    assert watching.entered[False] == 0
    for new, old, start in zip(found, expected, leaves(model.initial), strict=True):
        assert (new - old).norm() <= 1e-9 * (old - start).norm() + 1e-12


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(4, 6, 3, groups=2), (4, 8, 8)),
        (nn.ConvTranspose2d(4, 6, 3), (4, 8, 8)),
        (nn.Conv1d(4, 6, 3), (4, 8)),
    ],
)
def test_other_convolutions_stay_as_they_are(layer, shape):
    model = from_module("other", nn.Sequential(layer, nn.Flatten()))
    graph, _ = recorded(model, torch.rand(5, *shape))
    before = graph.code
    assert with_channels_last(graph).code == before


class Padding(nn.Module):
    """Pictures in a frame of zeros, written into it."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        framed = x.new_zeros(len(x), 3, 10, 10)
        framed[:, :, 1:9, 1:9] = x
        return self.conv(framed).mean((2, 3))


class Masking(nn.Module):
    """Two of the channels are set to nothing after they were computed."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 4, 3)

    def forward(self, x):
        hidden = self.first(x).relu() * 1.0
        hidden[:, :2] = 0
        return self.second(hidden).mean((2, 3))


class Viewing(nn.Module):
    """What was computed is changed through a view of it."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        found = self.conv(x)
        found.view(len(x), -1).mul_(2)
        return found.mean((2, 3))


@pytest.mark.parametrize("module", [Padding, Masking, Viewing])
def test_what_is_written_into_is_seen_by_the_convolution(module):
    torch.manual_seed(0)
    model = from_module("writing", module())
    graph, flat = recorded(model, torch.rand(5, 3, 8, 8))
    with torch.inference_mode():
        expected = [leaf.clone() for leaf in graph(*flat)]
        found = with_channels_last(graph)(*flat)
    for new, old, start in zip(found, expected, leaves(model.initial), strict=True):
        assert (new - old).norm() <= 1e-4 * (old - start).norm() + 1e-7
