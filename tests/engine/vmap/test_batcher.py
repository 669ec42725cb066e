"""Several clients' steps as one: the numbers of each by itself."""

import pytest
import torch
from torch import nn

from fedkin.core.method import plain_prediction
from fedkin.core.model import Batch
from fedkin.core.ops import scan
from fedkin.core.rng import Key
from fedkin.core.tree import leaves
from fedkin.engine.codec import encode
from fedkin.engine.evaluation import grading
from fedkin.engine.op import Task
from fedkin.engine.vmap.batcher import VmapBatcher, stacked_blocks
from fedkin.experiment.run import run
from fedkin.methods.fedavg import sgd_step
from fedkin.models import build
from fedkin.runs.database import read_only
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import METHODS, small
from tests.engine.test_runtime import Dropped
from tests.engine.vmap.batcher_examples import add, batches
from tests.models.test_build import SHAPES, inputs_of
from tests.some_methods import some


def numbers(method, folder, **settings):
    spec = small(method, engine__name="inprocess", **settings)
    with read_only(run(spec, folder)) as database:
        told = database.rows(
            "SELECT round, client, view, split, loss FROM metrics ORDER BY 1, 2, 3, 4"
        )
        return told, database.facts()["said"]


@pytest.fixture
def walked(monkeypatch):
    """How many walked side by side in training, each time that several did."""
    seen = []
    before = VmapBatcher._side_by_side

    def counting(self, kind, walks):
        if walks[0].step is not grading(plain_prediction):  # evaluation's
            seen.append(len(walks))
        return before(self, kind, walks)

    monkeypatch.setattr(VmapBatcher, "_side_by_side", counting)
    return seen


def same(method, tmp_path, **settings):
    alone, before = numbers(method, tmp_path / "alone", **settings)
    block, said = numbers(method, tmp_path / "block", engine__block=3, **settings)
    assert said == before  # nothing of steps that cannot be taken together
    for one, other in zip(alone, block, strict=True):
        assert one[:4] == other[:4]
        assert other[4] == pytest.approx(one[4], rel=1e-4, nan_ok=True)


@pytest.mark.rotating
@pytest.mark.parametrize("method", some(METHODS))
def test_every_method(method, tmp_path, walked):
    same(method, tmp_path)
    assert max(walked, default=0) == (0 if method == "centralized" else 3)  # it has one worker


@pytest.mark.parametrize("mode", ["never", pytest.param("always", marks=pytest.mark.slow)])
def test_other_ways_to_make_a_step(mode, tmp_path, walked):
    same("ditto", tmp_path, engine__compile=mode)
    assert 3 in walked


def test_scans_of_different_lengths(tmp_path, walked):
    same("fedavg", tmp_path, train__steps=None, train__epochs=2, train__batch_size=8)
    assert 3 in walked


LARGE = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("vgg11", "resnet18", "mobilenet_v2")
]


@pytest.mark.parametrize("name", ["cnn_cgpfl", "transformer_lm", *LARGE])
def test_the_step_of_a_large_model(name):
    """Two clients from different parameters, on different samples, against each by itself."""
    shape = SHAPES[name][-1]
    model = build.build(name, shape, 7, Key(1), inputs=inputs_of(name))
    high, kind = (9, torch.int16) if name == "transformer_lm" else (256, torch.uint8)

    def blocks(k):
        draw = torch.Generator().manual_seed(k)
        x = torch.randint(0, high, (1, 3, *shape), dtype=kind, generator=draw)
        return [Batch(x, torch.tensor([[0, 3, 6]]), torch.full((1, 3), 1 / 3))]

    def from_(k):
        return {name: value + 0.01 * k for name, value in model.initial.items()}

    runtime, lr = Runtime("trace"), torch.tensor(0.01)
    together = VmapBatcher(runtime)
    found = together.run(
        [lambda k=k: together.scan(sgd_step, model, from_(k), blocks(k), (lr,)) for k in range(2)]
    )
    assert together.said == []
    for k in range(2):
        alone = runtime.scan(sgd_step, model, from_(k), blocks(k), (lr,))
        for one, other in zip(leaves(alone), leaves(found[k]), strict=True):
            torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-4)


class Norm(nn.Module):
    """With running statistics, which are part of what walks."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Linear(8, classes)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.mark.parametrize("buffers", ["global", "local"])
def test_batch_norm(buffers, tmp_path, walked):
    same(
        "fedavg",
        tmp_path,
        model__name="tests.engine.vmap.test_batcher:Norm",
        model__buffers=buffers,
    )
    assert 3 in walked


def test_modules_that_draw_go_one_by_one_and_draw_the_same(tmp_path):
    assert Dropped
    name = "tests.engine.test_runtime:Dropped"
    alone, _ = numbers("ditto", tmp_path / "alone", model__name=name)
    block, said = numbers("ditto", tmp_path / "block", model__name=name, engine__block=3)
    assert block == alone
    assert len(said) == 1  # of two steps, which say the same
    assert "run one by one" in said[0]
    assert "random" in said[0]


def test_one_clients_failure_is_its_own(tmp_path, monkeypatch):
    parts = assemble(small("fedavg", engine__block=3))
    host = host_of(parts, list(parts.infos), None)
    before = type(host).answer

    def broken(self, task, *rest):
        if task.client == 1:
            raise RuntimeError("sensor unplugged")
        return before(self, task, *rest)

    monkeypatch.setattr(type(host), "answer", broken)
    down = encode({"parameters": parts.models["mlr"].initial})
    answers = list(host.do("local", 1, [Task(client, down) for client in range(6)]))
    assert [answer.client for answer in answers] == list(range(6))
    assert [answer.error and answer.error.partition(" (")[0] for answer in answers] == [
        None,
        "RuntimeError: sensor unplugged",
        *[None] * 4,
    ]


@pytest.mark.parametrize("lengths", [(1, 9, 4), (4, 4), (0, 3, 12, 5, 5), (7,)])
def test_sums_of_any_lengths(lengths):
    together = VmapBatcher(Runtime("trace"))
    values = [[float(k + 1)] * n for k, n in enumerate(lengths)]

    def task(mine):
        return lambda: [scan(add, torch.tensor(0.5), batches(together, mine)) for _ in range(2)]

    found = together.run([task(mine) for mine in values])
    assert [[float(x) for x in pair] for pair in found] == [
        [0.5 + sum(mine)] * 2 for mine in values
    ]
    assert together.said == []


def test_few_graphs_however_many_are_left():
    together = VmapBatcher(Runtime("trace"))

    def task(times):
        return lambda: [
            scan(add, torch.tensor(0.0), batches(together, [1.0])) for _ in range(times)
        ]

    together.run([task(k + 1) for k in range(5)])
    assert together.runtime.graphs == 4  # for 8 places, 4, 4, 2, and one alone


def test_blocks_abreast():
    walks = [iter([torch.tensor([1.0, 2.0]), torch.tensor([3.0])]), iter([torch.tensor([7.0])])]
    first, second = stacked_blocks(walks, 4)
    assert first[0].tolist() == [[True, True, False, False], [True, False, False, False]]
    assert first[1].tolist() == [[1, 7, 1, 1], [2, 7, 2, 2]]
    assert second[0].tolist() == [[True, False, False, False]]
    assert second[1].tolist() == [[3, 7, 3, 3]]


def test_constants_of_all_are_not_stacked():
    widths = []
    together = VmapBatcher(Runtime("never"))
    shared, own = torch.tensor([2.0]), [torch.tensor([float(k)]) for k in range(3)]

    def step(model, total, value, everyone, mine):
        widths.append((everyone.shape, mine.shape))
        return total + value * everyone + mine

    tasks = [
        lambda k=k: scan(step, torch.tensor([0.0]), batches(together, [[1.0]]), shared, own[k])
        for k in range(3)
    ]
    assert [float(x) for x in together.run(tasks)] == [2, 3, 4]
    (first, *_) = together._steps
    assert first[1] == (True, False)


def test_results_share_no_memory():
    together = VmapBatcher(Runtime("trace"))
    tasks = [lambda: scan(add, torch.zeros(3), batches(together, [[1.0, 2, 3]])) for _ in range(2)]
    one, other = together.run(tasks)
    assert (
        leaves(one)[0].untyped_storage().data_ptr() != leaves(other)[0].untyped_storage().data_ptr()
    )
    assert one.untyped_storage().nbytes() == 12
