"""A recorded step is the step of every batch; where it would not be, plain steps are made, and the
record says why.
"""

import random

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, from_module
from fedkin.core.ops import Batches, gradient, scan
from fedkin.methods.fedavg import sgd_step
from fedkin.runtime import traceable
from fedkin.runtime.recorder import NotRecorded
from fedkin.runtime.replay import Runtime
from tests.runtime.test_replay import stacked


class Net(nn.Module):
    """A network whose hidden numbers are changed by what ``forward`` calls."""

    def __init__(self, change):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(5, 8), nn.Linear(8, 3)
        self.register_buffer("sizes", torch.tensor([1.0, 2.0]))
        self.change = change

    def forward(self, x):
        return self.last(self.change(self, x, torch.relu(self.first(x))))


def trained(change, mode="trace", steps=5, rate=0.1):
    """(what ``steps`` steps end in, what the runtime says)."""
    model = from_module("net", Net(change))
    data, runtime = stacked(steps), Runtime(mode)
    batches = Batches(runtime, model, steps, lambda a, b: Batch(*(leaf[a:b] for leaf in data)))
    torch.manual_seed(1)
    return scan(sgd_step, model.initial, batches, rate), runtime.said


def same(one, other):
    assert all(torch.equal(one[name], value) for name, value in other.items())


def counted_rows(self, x, h):
    return h * torch.tensor((x > 0.5).sum(1).tolist(), dtype=x.dtype)[:, None]


def test_values_that_are_read_without_an_operation():
    ended, said = trained(counted_rows)
    assert said == ["steps run without tracing: they read values of the batch (Tensor.tolist)"]
    same(ended, trained(counted_rows, "never")[0])


def scanned(step):
    """(where five steps end that begin with 0, what the runtime says)."""
    data, runtime = stacked(5), Runtime()
    batches = Batches(
        runtime, from_module("net", Net(None)), 5, lambda a, b: Batch(*(leaf[a:b] for leaf in data))
    )
    return scan(step, torch.zeros(()), batches, 0.1), runtime.said


def bright(x):
    return (x > 0.5).sum(1)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.numpy().sum(),
        lambda x: np.asarray(x).sum(),
        lambda x: np.from_dlpack(x).sum(),
        lambda x: x.storage().nbytes(),
        lambda x: x.untyped_storage().nbytes(),
        lambda x: x.data_ptr() % 2,
    ],
)
@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_memory_that_is_read_in_a_step_without_a_gradient(read):
    """As evaluation is."""

    def summed(model, total, batch, lr):
        return total + float(read(bright(batch.x)))

    found, said = scanned(summed)
    assert "they read values of the batch" in said[0]
    assert float(found) == sum(float(read(bright(x))) for x in stacked(5).x)


def share_of_bright(self, x, h):
    return h / (0.1 + len(x[x > 0.5]) / x.numel())


def chosen(self, x, h):
    return h - h[h > 0].mean()


def places(self, x, h):
    return h + (x > 0.5).nonzero().to(h.dtype).mean()


def selected(self, x, h):
    return h + torch.masked_select(x, x > 0.5).sum()


def kinds(self, x, h):
    return h + len(torch.unique((4 * x).round()))


def counts(self, x, h):
    return h + torch.bincount((9 * x).long().flatten()).to(h.dtype).mean()


def repeated(self, x, h):
    return h + torch.repeat_interleave(x[:, 0], (3 * x[:, 1]).long()).sum()


@pytest.mark.parametrize(
    ("change", "by"),
    [
        (share_of_bright, "aten.index.Tensor"),
        (chosen, "aten.index.Tensor"),
        (places, "aten.nonzero.default"),
        (selected, "aten.masked_select.default"),
        (kinds, "aten._unique2.default"),
        (counts, "aten.bincount.default"),
        (repeated, "aten.repeat_interleave.Tensor"),
    ],
)
def test_sizes_that_depend_on_values(change, by):
    ended, said = trained(change)
    assert said == [
        f"steps run without tracing: they make tensors as large as values of the batch say ({by})"
    ]
    same(ended, trained(change, "never")[0])


def test_a_model_that_goes_on_after_the_refusal():
    def guarded(self, x, h):
        try:
            return h + len(x[x > 0.5])
        except Exception:
            return h

    ended, said = trained(guarded)
    assert len(said) == 1
    assert "aten.index.Tensor" in said[0]
    same(ended, trained(guarded, "never")[0])


def growing(self, x, h):
    self.steps = getattr(self, "steps", 0) + 1
    return h / self.steps


UNLIKE = (
    "steps run without tracing: a second pass is not like the first: forward reads values of the "
    "batch, or keeps something in Python"
)


@pytest.mark.parametrize("rate", [0.1, 0.0])
def test_a_second_pass_that_is_not_like_the_first(rate):
    assert trained(growing, rate=rate)[1] == [UNLIKE]


def test_values_that_torch_reads_and_tells_nobody():
    """``tensor_split`` takes the places out of memory."""

    def summed(model, total, batch, lr):
        first, _ = torch.tensor_split(batch.x, bright(batch.x)[:1], 0)
        return total + first.sum()

    assert scanned(summed)[1] == [UNLIKE]


def test_a_tensor_that_is_no_buffer_and_is_written_into():
    seen = torch.zeros(5)

    def summed(model, total, batch, lr):
        seen.add_(batch.x.mean(0))
        return total + seen.sum()

    assert scanned(summed)[1] == [UNLIKE]


def test_a_generator_of_its_own():
    def noisy(self, x, h):
        return h + torch.rand(8, generator=torch.Generator().manual_seed(3))

    ended, said = trained(noisy)
    assert said[0].startswith("steps run without tracing: they draw from a generator of their own")
    same(ended, trained(noisy, "never")[0])


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_draws_that_no_seed_governs(draw):
    def skipping(self, x, h):
        return h if draw() < 0.5 else 2 * h

    with pytest.raises(FedkinError, match="a step of this run draws from Python's random or"):
        trained(skipping)


def taken_by_number(self, x, h):
    return h[torch.tensor([0, 0, 1, 2, 3, 5])] + h.sort().values


def masked_in_place(self, x, h):
    h = h.clone()
    h[h < 0.1] = 0.0
    return torch.where(x.sum(1, keepdim=True) > 2, h, 2 * h)


def with_noise(self, x, h):
    return h + torch.randn_like(h) * self.sizes.mean()


@pytest.mark.parametrize("change", [taken_by_number, masked_in_place, with_noise])
def test_what_is_traced_all_the_same(change):
    ended, said = trained(change)
    assert said == []
    same(ended, trained(change, "never")[0])


def test_torch_that_is_watched_takes_another_way():
    """nn.TransformerEncoderLayer in evaluation mode: one operation, or many where it is watched."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    body = nn.Sequential(nn.Linear(5, 12), nn.Unflatten(1, (3, 4)), layer, nn.Flatten())
    model = from_module("net", nn.Sequential(body, nn.Linear(12, 3)))

    def taught(model, w, batch, lr):
        def loss(w, batch):
            return (model.train_outputs(w, batch.x) - aim).square().mean()

        aim = model.outputs(w, batch.x)
        return {name: w[name] - lr * value for name, value in gradient(loss)(w, batch).items()}

    data, runtime = stacked(3), Runtime()
    batches = Batches(runtime, model, 3, lambda a, b: Batch(*(leaf[a:b] for leaf in data)))
    scan(taught, model.initial, batches, 0.1)
    assert runtime.said == []


def test_sums_in_another_order(monkeypatch):
    """Where bits differ, the second graph decides."""
    monkeypatch.setattr(traceable, "_same", lambda mine, other: False)
    assert trained(lambda self, x, h: h)[1] == []


def test_a_step_that_cannot_take_the_other_values(monkeypatch):
    def refused(leaf):
        leaf.fill_(7)
        raise RuntimeError("not positive definite")

    monkeypatch.setattr(traceable, "_change", refused)
    ended, said = trained(masked_in_place)
    assert said == ["steps run without tracing: RuntimeError: not positive definite"]
    same(ended, trained(masked_in_place, "never")[0])


def test_what_make_fx_records_is_looked_through_as_well(monkeypatch):
    def unknown(run, inputs):
        raise NotRecorded("a tensor of a kind of its own")

    monkeypatch.setattr("fedkin.runtime.replay.flat_graph", unknown)
    assert trained(masked_in_place)[1] == []
    (said,) = trained(share_of_bright)[1]
    assert "aten.index.Tensor" in said
    (said,) = trained(counted_rows)[1]
    assert "tolist" in said


def test_constants_are_compared_bit_by_bit():
    nan, zero = torch.tensor([float("nan")]), torch.zeros(2)
    assert traceable._same(nan, nan.clone())
    assert not traceable._same(zero, -zero)
    assert not traceable._same(zero, zero.double())
    assert not traceable._same(zero, torch.zeros(2, 1))


def test_tokens_in_floats_stay_tokens_and_the_step_is_recorded() -> None:
    """An .npz of tokens comes as floats: other values must still have a row in the embedding."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.rows, self.head = nn.Embedding(9, 4), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.rows(x.long()).mean(1))

    model = from_module("reader", Reader())
    data = stacked(4)
    data = data._replace(x=torch.arange(data.x.numel()).remainder(9).view(data.x.shape).float())
    ended = []
    for mode in ("trace", "never"):
        runtime = Runtime(mode)
        batches = Batches(runtime, model, 4, lambda a, b: Batch(*(leaf[a:b] for leaf in data)))
        ended.append(scan(sgd_step, model.initial, batches, 0.1))
        assert runtime.said == []
    same(*ended)
