"""What a CUDA graph asks of a step: nothing of main memory in it. torch's meta device stands in for
a GPU; on a real one: ``test_gpu.py``.
"""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from fedkin.core.model import Batch, Inputs, from_module
from fedkin.core.rng import Key
from fedkin.core.tree import fill, leaves, map_tree
from fedkin.methods.fedavg import sgd_step
from fedkin.models.build import build
from fedkin.runtime.cuda_graph import Captures, Uncaptured, with_constants_there
from fedkin.runtime.replay import _flat, _operations
from tests.models.test_build import SHAPES, TEXTS, inputs_of

GPU = torch.device("meta")


def recorded(model, x):
    """A step's operations there."""
    rows = len(x)
    batch = Batch(x, torch.arange(rows) % 2, torch.full((rows,), 1 / rows))
    given = map_tree(lambda leaf: leaf.to(GPU), (model.initial, batch, torch.tensor(0.1)))
    return _flat(lambda *flat: leaves(sgd_step(model, *fill(given, iter(flat)))), leaves(given))


def carried(graph):
    """Operations that take more than a number from main memory."""
    here = {
        node
        for node in graph.graph.nodes
        if node.op == "get_attr" and getattr(graph, node.target).device.type == "cpu"
    }
    copies = {
        node
        for node in graph.graph.nodes
        if here & set(node.all_input_nodes) and node.target is not torch.ops.aten.lift_fresh_copy
    }
    return here | copies


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "glm"])
def test_no_models_step_takes_anything_from_main_memory(name):
    shape = SHAPES[name][-1]
    scaled = inputs_of(name) if name in TEXTS else Inputs((0.5,) * shape[0], (0.25,) * shape[0])
    kind = torch.int16 if name in TEXTS else torch.uint8
    graph = recorded(
        build(name, shape, 7, Key(1), inputs=scaled), torch.zeros((4, *shape), dtype=kind)
    )
    assert not carried(with_constants_there(graph, torch.device("meta:0")))  # one and the same


def test_what_would_be_carried_is_found():
    model = build("cnn_comet", (3, 32, 32), 7, Key(1), inputs=Inputs((0.5,) * 3, (0.25,) * 3))
    assert carried(recorded(model, torch.zeros(4, 3, 32, 32, dtype=torch.uint8)))


class Counting(nn.Module):
    """Adds to a buffer that is not a running statistic, and uses it."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.register_buffer("seen", torch.tensor(2))

    def forward(self, x):
        self.seen += 1
        return self.layer(x) * self.seen


def test_a_constant_that_is_written_into_is_fresh_at_each_call():
    model = from_module("counting", Counting())
    weight = torch.full((4,), 0.25)
    given = (model.initial, Batch(torch.rand(4, 5), torch.arange(4) % 2, weight), torch.tensor(0.1))
    graph = _operations(
        lambda *flat: leaves(sgd_step(model, *fill(given, iter(flat)))), leaves(given)
    )
    expected = graph(*leaves(given))
    held = with_constants_there(graph, torch.device("cpu"))
    assert [name for name, _ in held.named_buffers() if name.startswith("_constant_there")]
    for _ in range(2):
        for a, b in zip(held(*leaves(given)), expected, strict=True):
            assert torch.equal(a, b)


def test_a_constant_that_is_written_into_before_it_goes_there_is_left_as_it_is():
    def run(x):
        mask = torch.tensor([1.0, 1.0, 1.0])
        mask[0] = 0
        return (x * mask.to(x.device, copy=True),)

    given = [torch.full((3,), 2.0)]
    graph = with_constants_there(
        _operations(run, [one.clone() for one in given]), torch.device("cpu")
    )
    assert graph(*given)[0].tolist() == [0.0, 2.0, 2.0]


class Graph:
    """In the place of a CUDA graph: a replay computes nothing."""

    def replay(self):
        pass


@pytest.fixture
def cuda(monkeypatch):
    """What captures ask of torch.cuda, which is not here; notes their pools and streams."""
    asked = []
    pools = iter(range(9))

    @contextmanager
    def capture(graph, pool, stream, capture_error_mode):
        asked.append((pool, stream))
        yield

    stands = SimpleNamespace(wait_stream=lambda other: None)
    fakes = {
        "device": lambda device: nullcontext(),
        "Stream": lambda: stands,
        "current_stream": lambda: stands,
        "stream": lambda stream: nullcontext(),
        "graph_pool_handle": lambda: next(pools),
        "get_sync_debug_mode": lambda: 0,
        "set_sync_debug_mode": lambda mode: None,
        "CUDAGraph": Graph,
        "graph": capture,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return asked


def test_captures_share_memory_until_one_breaks_off(cuda):
    captures = Captures(torch.device("cpu"))
    given = [torch.ones(2)]
    first = captures.of(lambda x: (2 * x,), given)
    captures.of(lambda x: (3 * x,), given)
    with pytest.raises(Uncaptured, match="RuntimeError: no"):
        captures.of(refusing, given)
    captures.of(lambda x: (4 * x,), given)
    assert [pool for pool, _ in cuda] == [0, 0, 1]
    assert len({id(stream) for _, stream in cuda}) == 1
    assert first(torch.ones(2))[0].tolist() == [2.0, 2.0]


def refusing(x):
    raise RuntimeError("no")


def test_what_draws_in_main_memory_is_no_graph(cuda):
    with pytest.raises(Uncaptured, match="draws in main memory"):
        Captures(torch.device("cpu")).of(lambda x: (x * torch.rand(()),), [torch.ones(2)])
    assert cuda == []
