"""Other devices and lower precision. There is no GPU where these run: torch's meta device stands in
for one, which computes nothing and refuses whatever mixes devices.
"""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, Inputs
from fedkin.core.ops import over_rows, sgd_step
from fedkin.core.rng import Key
from fedkin.core.tree import leaves, map_tree, row
from fedkin.engine.vmap.batcher import side_by_side
from fedkin.experiment.run import experiment, run
from fedkin.models import build
from fedkin.models.user_models import allow
from fedkin.runs.database import read_only
from fedkin.runtime import device
from fedkin.runtime.device import CPU, device_named, placed
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import METHODS, content, small
from tests.models.test_build import SHAPES, TEXTS, inputs_of
from tests.some_methods import some

GPU = torch.device("meta")


def on_gpu(tree):
    """Tensors of the same shapes there."""
    return map_tree(lambda x: torch.empty(x.shape, dtype=x.dtype, device=GPU), tree)


def devices(step, model, *arguments):
    """Where the results are of a step that finds everything there."""
    return {x.device for x in leaves(step(model, *on_gpu(arguments)))}


class Elsewhere(Runtime):
    """Notes on which devices each step's results would be."""

    def __init__(self):
        super().__init__("trace")
        self.devices = []

    def scan(self, step, model, carry, blocks, constants):
        blocks = list(blocks)
        self.devices.append(devices(step, model, carry, row(blocks[0], 0), *constants))
        return super().scan(step, model, carry, blocks, constants)


@pytest.mark.rotating
@pytest.mark.parametrize("method", some(METHODS))
def test_every_methods_steps_stay_on_the_gpu(method, tmp_path, monkeypatch):
    made = []

    def elsewhere(spec, replays):
        made.append(Elsewhere())
        return made[-1]

    monkeypatch.setattr("fedkin.setup.build.runtime_of", elsewhere)  # the server's
    monkeypatch.setattr("fedkin.setup.hosts.runtime_of", elsewhere)
    run(small(method, run__rounds=2), tmp_path / "run")
    seen = [found for runtime in made for found in runtime.devices]
    assert seen
    assert all(found == {GPU} for found in seen)


def test_the_fake_gpu_notices_a_tensor_that_stayed_behind():
    def step(model, w, batch, lr):
        return {name: value - lr * torch.ones(value.shape) for name, value in w.items()}

    model = build.build("mlr", (3,), 2, Key(0))
    with pytest.raises(RuntimeError, match="device"):
        devices(step, model, model.initial, {}, torch.tensor(0.1))


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "glm"])
def test_models_train_on_the_gpu(name):
    shape = SHAPES[name][-1]
    scaled = inputs_of(name) if name in TEXTS else Inputs((0.5,) * shape[0], (0.25,) * shape[0])
    model = build.build(name, shape, 7, Key(1), inputs=scaled)
    kind = torch.int16 if name in TEXTS else torch.uint8
    batch = Batch(
        torch.zeros((4, *shape), dtype=kind), torch.tensor([0, 3, 6, 1]), torch.full((4,), 0.25)
    )
    assert devices(sgd_step, model, model.initial, batch, torch.tensor(0.1)) == {GPU}
    assert model.outputs(on_gpu(model.initial), on_gpu(batch.x)).device == GPU


class Weighing(nn.Module):
    """With a table of whole numbers, which is no running statistic."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(*shape, classes)
        self.register_buffer("order", torch.arange(*shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x * self.order)


def test_tables_of_a_module_go_there_too():
    allow(["tests.runtime.test_device:Weighing"])
    model = build.build("tests.runtime.test_device:Weighing", (5,), 3, Key(0))
    batch = Batch(torch.zeros(4, 5), torch.tensor([0, 1, 2, 1]), torch.full((4,), 0.25))
    assert devices(sgd_step, model, model.initial, batch, torch.tensor(0.1)) == {GPU}


def test_several_clients_steps_on_the_gpu():
    model = build.build("dnn", (5,), 3, Key(0))
    batch = (
        torch.ones(4, dtype=torch.bool),
        Batch(torch.zeros(4, 2, 5), torch.zeros(4, 2).long(), torch.ones(4, 2)),
    )
    carry = map_tree(lambda x: x.expand(4, *x.shape), model.initial)
    assert devices(side_by_side(sgd_step, (True,)), model, carry, batch, torch.tensor(0.1)) == {GPU}


@pytest.mark.parametrize("side", [CPU, GPU])
def test_evaluation_goes_there_and_comes_back_to_its_samples(side, monkeypatch):
    model = build.build("dnn", (5,), 3, Key(0))
    went = []

    def outputs(w, x):
        went.append({x.device, *(value.device for value in w.values())})
        return torch.zeros(len(x), 3)  # what the meta device has cannot come back

    moving = placed(model._replace(outputs=outputs), GPU)
    x = torch.zeros(4, 5, device=side)
    assert moving.outputs(model.initial, x).device == side
    assert went == [{GPU}]


def test_the_cpu_is_left_as_it_is():
    model = build.build("dnn", (5,), 3, Key(0))
    assert placed(model, CPU) is model
    assert device_named("cpu") == CPU


@pytest.mark.parametrize(
    ("name", "built", "there", "told"),
    [
        (
            "cuda",
            None,
            0,
            "no GPU that torch can use here .it is built for the CPU alone.: take 'cpu'",
        ),
        ("cuda:1", "13.0", 0, "no GPU that torch can use here .it finds none."),
        ("cuda:2", "13.0", 2, "'cuda:2': there are 2 GPUs, cuda:0 to cuda:1"),
    ],
)
def test_a_gpu_that_is_not_there(name, built, there, told, monkeypatch):
    monkeypatch.setattr(device.torch.version, "cuda", built)
    monkeypatch.setattr(device.torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(device.torch.cuda, "device_count", lambda: there)
    with pytest.raises(FedkinError, match=told):
        device_named(name)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("engine", "device", "tpu"), ("engine", "block", 0), ("train", "precision", "int8")],
)
def test_what_is_none_is_refused_with_the_specification(section, key, value):
    with pytest.raises(FedkinError, match=key):
        experiment(content(**{f"{section}__{key}": value}))


def losses(folder):
    with read_only(folder) as database:
        return database.rows(
            "SELECT round, client, view, split, loss FROM metrics ORDER BY 1, 2, 3, 4"
        )


@pytest.mark.rotating
@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("method", ["fedavg", "ditto", "comet", "ppfl", "persfl", "pfedme"])
def test_bfloat16_rounds_more_and_learns_the_same(method, block, tmp_path):
    spec = {"train__precision": "bfloat16", "engine__block": block}
    full, low = (losses(run(small(method, **s), tmp_path / str(len(s)))) for s in ({}, spec))
    assert full != low
    for one, other in zip(full, low, strict=True):
        assert other[4] == pytest.approx(one[4], rel=0.05, abs=0.02)


def test_a_gpu_has_one_process_and_sixteen_small_models_at_a_time(monkeypatch):
    monkeypatch.setattr("fedkin.setup.build.device_named", lambda name: CPU)
    parts = assemble(small("fedavg", engine__device="cuda"))
    assert host_of(parts, list(parts.infos), None).block == 16
    parts = assemble(small("fedavg", engine__device="cuda", engine__block=2))
    assert host_of(parts, list(parts.infos), None).block == 2
    monkeypatch.setattr("fedkin.engine.vmap.block_size.LARGEST_IN_BLOCKS", 649)
    parts = assemble(small("fedavg", engine__device="cuda"))
    assert host_of(parts, list(parts.infos), None).block == 1  # 650 parameters


def test_auto_compiles_for_a_cpu_alone():
    assert Runtime("auto", 1_000_000)._worth_compiling(3)
    assert not Runtime("auto", 1_000_000, GPU)._worth_compiling(3)


def test_many_rows_take_their_parameters_there_once():
    model = build.build("dnn", (1, 4, 4), 3, Key(0))
    taken = []

    def there(w):
        taken.append(w)
        return {name: leaf + 1 for name, leaf in w.items()}

    x = torch.rand(10, 1, 4, 4)
    found = over_rows(lambda out: out, model._replace(there=there), model.initial, x, rows=3)
    assert taken == [model.initial]
    assert torch.equal(found, over_rows(lambda out: out, model, there(model.initial), x, rows=3))
    assert {leaf.device for leaf in leaves(placed(model, GPU).there(model.initial))} == {GPU}


def test_a_gpus_steps_have_their_channels_last(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "fedkin.runtime.replay.with_channels_last", lambda graph: seen.append(graph) or graph
    )
    # the meta device has no values, on which a second trial could be held against the first
    monkeypatch.setattr("fedkin.runtime.replay.confirmed", lambda record, *_: record())
    model = build.build("cnn_comet", (3, 32, 32), 3, Key(0))
    batch = Batch(torch.zeros(2, 3, 32, 32), torch.tensor([0, 1]), torch.full((2,), 0.5))
    given = (model.initial, batch, torch.tensor(0.1))
    Runtime("trace").prepare(sgd_step, model, given)
    assert not seen
    Runtime("trace", 0, GPU).prepare(sgd_step, model, on_gpu(given))
    assert len(seen) == 1
