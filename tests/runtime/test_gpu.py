"""On a real GPU: the numbers of the CPU, the same bits every time, steps as CUDA graphs. Skipped
where there is none, as in CI: run it by hand on a machine that has one.
"""

import math

import pytest
import torch
from torch import nn

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import Batches, scan, sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import leaves
from fedkin.experiment.run import run
from fedkin.models.build import build
from fedkin.runs.database import read_only
from fedkin.runtime.cuda_graph import Captures, Uncaptured
from fedkin.runtime.generators import drawing_from
from fedkin.runtime.replay import Runtime
from tests.engine.small import METHODS, outcome_of, small

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

GPU = torch.device("cuda")


def scored(spec, folder):
    """(loss, accuracy) by (round, client, view, split), and what the record says."""
    with read_only(run(spec, folder)) as database:
        rows = database.rows("SELECT round, client, view, split, loss, accuracy FROM metrics")
        said = database.facts()["said"]
    return {tuple(row[:4]): row[4:] for row in rows}, said


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_cpus_numbers(method, block, tmp_path):
    there = {"engine__device": "cuda", "engine__block": block}
    found, said = scored(small(method, **there), tmp_path / "gpu")
    expected, _ = scored(small(method), tmp_path / "cpu")
    assert not [sentence for sentence in said if "CUDA graphs" in sentence], said
    assert found.keys() == expected.keys()
    for at, (loss, accuracy) in expected.items():
        assert math.isclose(loss or 0, found[at][0] or 0, abs_tol=2e-3), (at, loss, found[at])
        assert abs((accuracy or 0) - (found[at][1] or 0)) <= 0.05, (at, accuracy, found[at])


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("method", ["fedavg", "comet", "ppfl", "pfedme"])
def test_two_runs_give_the_same_bits(method, block):
    spec = small(method, engine__device="cuda", engine__block=block)
    assert outcome_of(spec) == outcome_of(spec)


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(12, 8), nn.Dropout(0.5), nn.Linear(8, 3)
        )

    def forward(self, x):
        return self.layers(x)


MODELS = {
    "cnn_comet": lambda: build("cnn_comet", (3, 32, 32), 10, Key(0)),
    "vgg11": lambda: build("vgg11", (3, 32, 32), 10, Key(0)),
    "resnet18": lambda: build("resnet18", (3, 32, 32), 10, Key(0)),
    "dropping": lambda: from_module("dropping", Dropping()),
}


def trained(name, mode, device=GPU, seed=1):
    """Where three steps end."""
    torch.manual_seed(0)
    model = MODELS[name]()
    side = (3, 32, 32) if name != "dropping" else (12,)
    x = torch.rand(3, 8, *side)
    data = Batch(x, torch.randint(0, 3, (3, 8)), torch.full((3, 8), 1 / 8))
    runtime = Runtime(mode, 0, device)
    batches = Batches(runtime, model, 3, lambda a, b: Batch(*(leaf[a:b] for leaf in data)))
    with drawing_from(seed, device):
        first = scan(sgd_step, model.initial, batches, 0.05)
    with drawing_from(seed, device):
        again = scan(sgd_step, model.initial, batches, 0.05)
    assert not runtime.said, runtime.said
    return [torch.cat([leaf.flatten() for leaf in leaves(end)]) for end in (first, again)]


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_gives_the_bits_of_its_operations_every_time(name, monkeypatch):
    first, again = trained(name, "trace")
    assert torch.equal(first, again)  # the first is captured before it is run
    monkeypatch.setattr(Runtime, "_captured", lambda self, run: run)
    assert torch.equal(trained(name, "trace")[0], first)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "dropping"])
def test_steps_come_near_the_cpus(name):
    found, expected = (
        trained(name, mode, device)[0]
        for mode, device in [("trace", GPU), ("never", torch.device("cpu"))]
    )
    start = torch.cat([leaf.flatten() for leaf in leaves(MODELS[name]().initial)])
    assert ((found - expected).norm() / (expected - start).norm()).item() < 0.05  # TF32


def test_what_is_dropped_is_the_seeds():
    assert torch.equal(trained("dropping", "trace")[0], trained("dropping", "never")[0])
    assert not torch.equal(trained("dropping", "trace")[0], trained("dropping", "trace", seed=2)[0])


def test_what_waits_for_the_gpu_is_no_graph():
    captures = Captures(GPU)
    with pytest.raises(Uncaptured):
        captures.of(lambda x: (x * x.sum().item(),), [torch.ones(3, device=GPU)])
    dropped = torch.nn.functional.dropout(torch.ones(1000, device=GPU))  # the GPU goes on
    assert 0 < dropped.count_nonzero() < 1000
    captures.of(lambda x: (torch.nn.functional.dropout(x),), [torch.ones(3, device=GPU)])


def test_what_draws_in_main_memory_is_no_graph():
    with pytest.raises(Uncaptured, match="draws in main memory"):
        Captures(GPU).of(lambda x: (x * torch.rand(()),), [torch.ones(3, device=GPU)])


def test_results_are_left_alone_by_later_calls():
    twice = Captures(GPU).of(lambda x: (2 * x, x), [torch.ones(3, device=GPU)])
    first = twice(torch.full((3,), 5.0, device=GPU))
    twice(torch.full((3,), 7.0, device=GPU))
    assert first[0].tolist() == [10.0] * 3
    assert first[1].tolist() == [5.0] * 3
