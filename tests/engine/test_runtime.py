"""Tracing, compiling, falling back; batch norm and dropout as torch has them."""

import pytest
import torch
from torch import nn

from fedkin.core.family import CATEGORICAL
from fedkin.core.model import Batch, from_module
from fedkin.core.rng import Key
from fedkin.core.tree import leaves
from fedkin.engine.codec import encode
from fedkin.engine.op import Task
from fedkin.experiment.run import run
from fedkin.methods.fedavg import sgd_step
from fedkin.models import build
from fedkin.runs.database import read_only
from fedkin.runtime import replay
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of, replays_of
from tests.engine.small import outcome, small


class Normed(nn.Module):
    """A layer with batch norm, on flattened inputs."""

    def __init__(self, shape, classes):
        super().__init__()
        self.first, self.norm, self.last = (
            nn.Linear(64, 8),
            nn.BatchNorm1d(8),
            nn.Linear(8, classes),
        )

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x.flatten(1)))))


class Dropped(nn.Module):
    """A layer with dropout."""

    def __init__(self, shape, classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 16), nn.Dropout(0.5), nn.Linear(16, classes)
        )

    def forward(self, x):
        return self.layers(x)


class Branching(nn.Module):
    """A model that looks at its values."""

    def __init__(self, shape, classes):
        super().__init__()
        self.layer = nn.Linear(64, classes)

    def forward(self, x):
        out = self.layer(x.flatten(1))
        return out if out.abs().max() < 1e9 else out * 0


def batch(rows=5, seed=0):
    rng = torch.Generator().manual_seed(seed)
    x, y = torch.rand(rows, 64, generator=rng), torch.randint(0, 10, (rows,), generator=rng)
    return Batch(x, y, torch.full((rows,), 1 / rows))


def call(runtime, model, rows=5):
    arguments = (model.initial, batch(rows), torch.tensor(0.1))
    with torch.inference_mode():
        return runtime.prepare(sgd_step, model, arguments)(*leaves(arguments))


@pytest.fixture
def linear():
    torch.manual_seed(0)
    return from_module("linear", nn.Linear(64, 10))


def test_graphs_are_made_once_a_shape(linear):
    runtime = Runtime("trace")
    for rows in (5, 5, 7, 5, 7):
        call(runtime, linear, rows)
    assert runtime.graphs == 2
    call(runtime, linear._replace(name="other"))
    assert runtime.graphs == 3


@pytest.mark.parametrize("mode", ["trace", "always"])
def test_modes_agree_with_autograd(mode, linear):
    for one, other in zip(call(Runtime(mode), linear), call(Runtime("never"), linear), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_a_run_needs_few_graphs(tmp_path):
    # clients of all sizes: their batches share one shape
    parts = assemble(
        small("fedavg", run__clients=12, split__alpha=0.2, train__steps=None, train__epochs=2)
    )
    host = host_of(parts, sorted(parts.infos), tmp_path)
    down = encode({"parameters": parts.models["mlr"].initial})
    answers = list(host.do("local", 1, [Task(client, down) for client in parts.infos]))
    assert all(answer.error is None for answer in answers)
    assert len({info.samples for info in parts.infos.values()}) > 6
    assert host.runtime.graphs == 1


def test_auto_counts_work(linear, monkeypatch):
    compiled = []
    monkeypatch.setattr(
        replay, "compiled", lambda name, record, inputs: compiled.append(1) or record().forward
    )
    probe = Runtime("auto", replays=0)
    call(probe, linear)
    assert not compiled
    call(Runtime("auto", replays=replay.WORTH_COMPILING), linear)
    assert len(compiled) == 1
    call(Runtime("never"), linear)
    call(Runtime("trace", replays=replay.WORTH_COMPILING), linear)
    assert len(compiled) == 1
    # the threshold is operations × replays: found by halving, it is one number
    low, high = 0, replay.WORTH_COMPILING
    while high - low > 1:
        middle = (low + high) // 2
        before = len(compiled)
        call(Runtime("auto", replays=middle), linear)
        low, high = (low, middle) if len(compiled) > before else (middle, high)
    operations = -(-replay.WORTH_COMPILING // high)
    assert 5 < operations < 60


def test_replays_are_those_of_the_whole_run():
    parts = assemble(
        small("fedavg", run__rounds=7, train__steps=4, run__clients=6, run__participation=0.5)
    )
    assert replays_of(parts) == 7 * 4 * 3
    epochs = assemble(
        small("fedavg", train__steps=None, train__epochs=2, run__rounds=1, run__participation=1.0)
    )
    assert replays_of(epochs) == 2 * sum(-(-info.samples // 16) for info in epochs.infos.values())


def test_no_compiler(tmp_path, monkeypatch):
    def missing(graph, inputs):
        raise RuntimeError(
            "InvalidCxxCompiler: No working C++ compiler found\nin a long list of places"
        )

    monkeypatch.setattr(torch._inductor, "aot_compile", missing)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = run(small("fedavg", engine__compile="always"), tmp_path / "run")
    with read_only(folder) as database:
        (said,) = database.facts()["said"]
    assert (
        said == "steps replay uncompiled: RuntimeError: InvalidCxxCompiler: No working C++ "
        "compiler found"
    )
    monkeypatch.undo()
    assert outcome(folder) == outcome(run(small("fedavg"), tmp_path / "traced"))


@pytest.mark.parametrize("mode", ["trace", "auto", "always"])
def test_a_model_that_branches_on_values(mode, tmp_path):
    settings = {"model__name": "tests.engine.test_runtime:Branching"}
    folder = run(small("fedavg", engine__compile=mode, **settings), tmp_path / "run")
    with read_only(folder) as database:
        said = database.facts()["said"]
        assert database.rows("SELECT * FROM events") == []
    assert len(said) == 1
    assert said[0].startswith("steps run without tracing: ")
    never = run(small("fedavg", engine__compile="never", **settings), tmp_path / "never")
    assert outcome(folder) == outcome(never)


def test_a_genuine_mistake_is_not_taken_for_untraceable(linear):
    def step(model, w, batch, rate):
        raise KeyError("weihgt")

    with pytest.raises(KeyError, match="weihgt"):
        Runtime("trace").prepare(step, linear, (linear.initial, batch(), torch.tensor(0.1)))


def trained_by_torch(module, batches, rate):
    """torch's own loop: the module in training mode, SGD without momentum."""
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    for one in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(one.x), one.y).backward()
        optimizer.step()
    return module


@pytest.mark.parametrize("mode", ["never", "trace", "always"])
def test_batch_norm_is_torchs_own(mode):
    torch.manual_seed(1)
    module = Normed(None, 10)
    model = from_module("normed", module, CATEGORICAL)
    assert not model.pads
    batches = [batch(6, seed) for seed in range(4)]
    runtime, w = Runtime(mode), model.initial
    for one in batches:
        arguments = (w, one, torch.tensor(0.1))
        with torch.inference_mode():
            w = dict(
                zip(w, runtime.prepare(sgd_step, model, arguments)(*leaves(arguments)), strict=True)
            )
    trained_by_torch(module, batches, 0.1)
    expected = {
        **dict(module.named_parameters()),
        **{f"buffer:{k}": v for k, v in module.named_buffers()},
    }
    assert set(w) == set(expected) - {"buffer:norm.num_batches_tracked"}
    for name, value in w.items():
        assert torch.allclose(value, expected[name], atol=1e-5), name
    assert torch.allclose(w["buffer:norm.running_mean"], module.norm.running_mean, atol=1e-6)
    assert not torch.equal(model.initial["buffer:norm.running_mean"], w["buffer:norm.running_mean"])


def test_batch_norm_statistics_reach_the_server(tmp_path):
    settings = {"model__name": "tests.engine.test_runtime:Normed"}
    folder = run(small("fedavg", **settings), tmp_path / "run")
    again = run(small("fedavg", engine__state="disk", **settings), tmp_path / "again")
    assert outcome(folder) == outcome(again)


def masks(clients, rounds, mode="never", first=()):
    """One local step of a model with dropout, for each (round, client): the bytes of what was
    learnt.
    """
    parts = assemble(
        small("fedavg", model__name="tests.engine.test_runtime:Dropped", engine__compile=mode)
    )
    name = "tests.engine.test_runtime:Dropped"
    # the same data for every client: only the masks differ
    info = parts.infos[0]
    same = parts._replace(infos={k: info._replace(client=k) for k in parts.infos})
    for split in ("train", "val", "test"):
        rows = getattr(parts.population, split)
        object.__setattr__(same.population, split, (rows[0],) * len(rows))
    host = host_of(same, list(parts.infos), None)
    host.schedule = host.schedule._replace(batch_size=10_000, steps=1)
    down = encode({"parameters": parts.models[name].initial})
    list(host.do("local", 1, [Task(client, down) for client in first]))
    return {
        (number, answer.client): answer.message
        for number in rounds
        for answer in host.do("local", number, [Task(client, down) for client in clients])
    }


@pytest.mark.parametrize("mode", ["never", "trace"])
def test_dropout_differs_between_rounds_and_clients(mode):
    found = masks(range(3), (1, 2), mode, first=[5])
    assert None not in found.values()
    assert len(set(found.values())) == 6
    assert masks([2, 0], (2,), mode, first=[5])[2, 0] == found[2, 0]


def test_dropout_does_not_depend_on_who_was_traced_first():
    # a client whose work is the first of its host must draw what it draws anywhere else
    assert masks([0], (1,), "trace")[1, 0] == masks([0], (1,), "trace", first=[3])[1, 0]


def test_dropout_is_off_in_evaluation():
    parts = assemble(small("fedavg", model__name="tests.engine.test_runtime:Dropped"))
    host = host_of(parts, [0], None)
    order = [Task(0, encode({"parameters": next(iter(parts.models.values())).initial}))]
    scores = [next(host.do("evaluate", number, order)).record.scores for number in (1, 2)]
    assert scores[0] == scores[1]


def test_modules_are_left_as_they_were():
    key_model = build.build("mlr", (64,), 10, Key(0))
    before = {name: value.clone() for name, value in key_model.initial.items()}
    call(Runtime("trace"), key_model)
    assert all(torch.equal(before[name], value) for name, value in key_model.initial.items())
