"""What a module of the user's own is asked before its run, and what is said where it fails."""

import random
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, Inputs, collecting_buffers
from fedkin.core.rng import Key, python_draws
from fedkin.core.tree import leaves
from fedkin.methods.fedavg import sgd_step
from fedkin.models import build as building
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime
from fedkin.setup.arguments.keywords import given_model

SHAPE = (1, 4, 4)
TEXT = (6,)


class Net(nn.Module):
    def __init__(self, classes, change=None):
        super().__init__()
        self.first, self.last = nn.Linear(16, 8), nn.Linear(8, classes)
        self.change = change or (lambda self, h: h)

    def forward(self, x):
        return self.last(self.change(self, torch.tanh(self.first(x.flatten(1)))))


def made(change=None, classes=3, **given):
    return build(given_model(lambda classes: Net(classes, change)), SHAPE, classes, Key(0), **given)


def through_numpy(self, h):
    return h if h.detach().numpy().any() else 2 * h


def packed(self, h):
    rows = nn.utils.rnn.pack_padded_sequence(
        h[:, :, None], (h > -1).sum(1).cpu(), True, enforce_sorted=False
    )
    return nn.utils.rnn.pad_packed_sequence(rows, True)[0][:, :, 0]


def checkpointed(self, h):
    return checkpoint(torch.relu, h, use_reentrant=False)


def failing_in_training(self, h):
    return h[:, :3] @ h if self.training else h


@pytest.mark.parametrize("change", [through_numpy, packed, checkpointed, failing_in_training])
def test_a_gradient_that_cannot_be_taken(change):
    with pytest.raises(FedkinError) as caught:
        made(change)
    assert re.match(
        r"model '<lambda>@python' cannot be trained, for torch.func.grad cannot go through it: "
        r"RuntimeError: ",
        str(caught.value),
    )


@pytest.mark.parametrize("family", ["categorical", "bernoulli", "gaussian", "poisson"])
def test_every_family_has_labels_to_try(family):
    classes = {"categorical": 3, "bernoulli": 2}.get(family, 0)
    assert made(family=family, classes=classes).pads


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
@pytest.mark.parametrize("training", [True, False])
def test_draws_that_a_recorded_step_would_make_once(draw, training):
    def skipping(self, h):
        return h if self.training is not training or draw() < 0.5 else 2 * h

    with pytest.raises(
        FedkinError,
        match=r"model '<lambda>@python' draws from Python's random or numpy.random, and a "
        "recorded step would draw once for all batches: draw with torch",
    ):
        made(skipping)


def test_draws_of_another_thread_are_not_the_models():
    """Something else draws once, and not at every pass."""
    left = [None]

    def lucky(self, h):
        if self.training and left:
            left.pop()
            random.random()
        return h

    made(lucky)


def test_no_generator_of_the_run_is_drawn_from():
    def noisy(self, h):
        return nn.functional.dropout(h + torch.rand_like(h), 0.5) if self.training else h

    before = torch.get_rng_state(), python_draws()
    model = made(noisy)
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == python_draws()
    assert model.pads  # the same noise both times


def centred(self, h):
    return h - h.mean(0) if self.training else h


def normalised(self, h):
    return (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()


def attending(self, h):
    return h + torch.softmax(h @ h.T, 1) @ h


def from_the_last(self, h):
    return h + h[-1:] / 100


@pytest.mark.parametrize("change", [centred, normalised, attending, from_the_last])
def test_models_that_mix_rows_are_not_padded(change):
    model = made(change)
    assert not model.pads
    assert not made(change, frozen=["first."]).pads


@pytest.mark.parametrize(
    "layer",
    [
        nn.LayerNorm(8),
        nn.GroupNorm(2, 8),
        nn.Dropout(0.5),
        nn.Sequential(
            nn.Unflatten(1, (2, 4)),
            nn.TransformerEncoderLayer(4, 2, 16, dropout=0.3, batch_first=True),
            nn.Flatten(),
        ),
    ],
)
def test_rows_that_are_alone_are_padded(layer):
    assert made(lambda self, h: layer(h)).pads


class Reader(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.symbols, self.last = nn.Embedding(classes + 2, 4), nn.Linear(4, classes)

    def forward(self, x):
        return self.last(self.symbols(x).mean(1))


class Mixer(Reader):
    def forward(self, x):
        h = self.symbols(x).mean(1)
        return self.last(h - h.mean(0))


@pytest.mark.parametrize(("kind", "pads"), [(Reader, True), (Mixer, False)])
def test_models_of_texts(kind, pads):
    model = build(given_model(kind), TEXT, 9, Key(0), inputs=Inputs(tokens=True))
    assert model.pads is pads


def test_architectures_of_fedkin_are_not_tried(monkeypatch):
    """They cost no gradient, and nothing about them changes."""

    def tried(*_):
        raise AssertionError("it was tried")

    monkeypatch.setattr(building, "tried_in_training", tried)
    assert build("dnn", SHAPE, 3, Key(0)).pads
    assert not build("resnet18", (3, 28, 28), 3, Key(0)).pads


class Lazy(nn.Module):
    def __init__(self, classes, called=True):
        super().__init__()
        self.body = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten())
        self.last, self.other = nn.LazyLinear(classes), nn.LazyLinear(2) if not called else None

    def forward(self, x):
        return self.last(self.body(x))


def test_lazy_layers_get_their_sizes_from_samples():
    torch.manual_seed(3)
    first, again = (build(given_model(Lazy), SHAPE, 3, Key(seed)) for seed in (1, 1))
    assert first.initial["last.weight"].shape == (3, 8)
    assert all(torch.equal(value, again.initial[name]) for name, value in first.initial.items())
    assert not first.initial["buffer:body.1.running_mean"].any()  # the zeros are nobody's samples
    other = build(given_model(Lazy), SHAPE, 3, Key(2))
    assert not torch.equal(first.initial["last.weight"], other.initial["last.weight"])


def test_lazy_layers_of_double_precision():
    def make(classes) -> nn.Module:
        return Lazy(classes).double()

    model = build(given_model(make), SHAPE, 3, Key(0))
    assert model.initial["last.weight"].dtype == torch.float64


def test_lazy_layers_that_cannot_have_a_size():
    with pytest.raises(
        FedkinError, match=r"model 'Lazy@python' cannot take samples of shape \[9\]"
    ):
        build(given_model(Lazy), (9,), 3, Key(0))
    name = given_model(lambda classes: Lazy(classes, called=False))
    with pytest.raises(FedkinError, match=r"does not call the layer of other\.weight"):
        build(name, SHAPE, 3, Key(0))


class Fixed(nn.Module):
    """Its first layer is not to be trained, and one parameter counts."""

    def __init__(self, classes):
        super().__init__()
        self.order = nn.Parameter(torch.arange(16).flip(0), requires_grad=False)
        self.first, self.norm = nn.Linear(16, 8), nn.BatchNorm1d(8)
        self.last = nn.Linear(8, classes)
        self.first.requires_grad_(False)
        self.norm.requires_grad_(False)

    def forward(self, x):
        return self.last(self.norm(self.first(x.flatten(1)[:, self.order])))


FIXED = {"order", "first.weight", "first.bias", "norm.weight", "norm.bias"}


def test_parameters_without_gradients_are_frozen():
    model = build(given_model(Fixed), SHAPE, 3, Key(0))
    assert set(model.frozen) == FIXED
    statistics = {"buffer:norm.running_mean", "buffer:norm.running_var"}
    assert set(model.initial) == {"last.weight", "last.bias", *statistics}
    batch = Batch(torch.rand(6, *SHAPE), torch.tensor([0, 1, 2, 0, 1, 2]), torch.full((6,), 1 / 6))
    moved = sgd_step(model, model.initial, batch, torch.tensor(0.5))
    assert model.loss(moved, batch) < model.loss(model.initial, batch)
    # as in torch: only what model.frozen names stands still
    assert not torch.equal(moved["buffer:norm.running_mean"], torch.zeros(8))
    still = build(given_model(Fixed), SHAPE, 3, Key(0), frozen=["norm."])
    assert set(still.frozen) == {*FIXED, *statistics}


@pytest.mark.parametrize(
    ("frozen", "why"),
    [
        ("body", None),
        (["last.bias"], None),
        (["last."], "model.frozen leaves nothing of model .* to train: leave out some of last."),
    ],
)
def test_beside_what_is_named(frozen, why):
    name = given_model(Fixed)
    if why is None:
        assert set(build(name, SHAPE, 3, Key(0), frozen=frozen).frozen) > FIXED
        return
    with pytest.raises(FedkinError, match=why):
        build(name, SHAPE, 3, Key(0), frozen=frozen)


def test_a_module_without_gradients_at_all():
    name = given_model(lambda classes: Net(classes).requires_grad_(False))
    with pytest.raises(
        FedkinError, match="has nothing to train: requires_grad is False for all of its parameters"
    ):
        build(name, SHAPE, 3, Key(0))


class Counting(Net):
    """Counts its passes in training mode, in a buffer of the given kind."""

    def __init__(self, classes, dtype=torch.float32, count=lambda n: n + 1, change=None):
        super().__init__(classes, change)
        self.register_buffer("n", torch.zeros((), dtype=dtype))
        self.register_buffer("order", torch.arange(8).flip(0))  # whole numbers that stay
        self.count = count

    def forward(self, x):
        if self.training:
            self.n = self.count(self.n)
        return super().forward(x)[:, :8]


@pytest.mark.parametrize("count", [lambda n: n + 1, lambda n: n.add_(1)])
@pytest.mark.parametrize("mode", ["never", "trace"])
def test_a_buffer_of_floats_lasts_however_it_is_written(count, mode):
    model = build(given_model(lambda classes: Counting(classes, count=count)), SHAPE, 3, Key(0))
    assert not model.pads
    w, runtime = model.initial, Runtime(mode)
    batch = Batch(torch.rand(6, *SHAPE), torch.tensor([0, 1, 2, 0, 1, 2]), torch.full((6,), 1 / 6))
    for _ in range(3):
        given = (w, batch, torch.tensor(0.1))
        with torch.inference_mode():
            step = runtime.prepare(sgd_step, model, given)
            w = dict(zip(w, step(*leaves(given)), strict=True))
    assert w["buffer:n"] == 3
    assert model.initial["buffer:n"] == 0


def test_a_buffer_that_is_computed_from_weights_takes_no_gradient_along():
    def remembering(self, h):
        self.n = 0.5 * self.n + 0.5 * h.mean()
        return h + self.n

    model = build(
        given_model(lambda classes: Counting(classes, count=torch.clone, change=remembering)),
        SHAPE,
        3,
        Key(0),
    )
    with collecting_buffers() as seen, torch.enable_grad():
        weights = {name: value.clone().requires_grad_() for name, value in model.initial.items()}
        model.train_outputs(weights, torch.rand(2, *SHAPE))
    assert not seen[0]["buffer:n"].requires_grad
    assert seen[0]["buffer:n"] != 0


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda classes: Counting(classes, torch.int64),
            r"what its forward writes into the buffer 'n' \(torch.int64\) is lost, for floats "
            "alone last from step to step: make it a buffer of floats",
        ),
        (
            lambda classes: nn.Sequential(
                nn.Flatten(), nn.BatchNorm1d(16, momentum=None), nn.Linear(16, classes)
            ),
            r"buffer '1.num_batches_tracked' \(torch.int64\) is lost, .*: give BatchNorm1d a momen",
        ),
        (
            lambda classes: Counting(classes, count=lambda n: n.repeat(2)),
            r"its buffer 'n' is torch.float32 \[\] before a pass and torch.float32 \[2\] after",
        ),
        (
            lambda classes: Counting(classes, count=lambda n: n.double()),
            r"'n' is torch.float32 \[\] before a pass and torch.float64 \[\] after it: keep",
        ),
    ],
)
def test_buffers_that_would_be_lost(make, why):
    with pytest.raises(FedkinError, match=r"model '<lambda>@python' cannot be trained: .*" + why):
        build(given_model(make), SHAPE, 3, Key(0))


def test_buffers_that_stay_by_choice_are_not_refused():
    def make(classes):
        norm = nn.BatchNorm1d(16, momentum=None)
        return nn.Sequential(nn.Flatten(), norm, nn.Linear(16, classes))

    assert build(given_model(make), SHAPE, 3, Key(0), frozen=["1."]).pads
    assert build(given_model(make), SHAPE, 3, Key(0), buffers="drop")
    assert build(given_model(Counting), SHAPE, 3, Key(0), buffers="drop")
    assert "buffer:n" in build(given_model(Counting), SHAPE, 3, Key(0)).initial


class Without(Net):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


class Detached(Net):
    def forward(self, x):
        return super().forward(x).detach()


@pytest.mark.parametrize("kind", [Without, Detached])
def test_a_model_without_any_gradient(kind):
    with pytest.raises(
        FedkinError, match=r"cannot be trained: no parameter has a gradient, for it"
    ):
        build(given_model(kind), SHAPE, 3, Key(0))


class Silent(Net):
    def forward(self, x):
        return 0 * super().forward(x)


def test_gradients_that_happen_to_be_zero_are_gradients():
    assert build(given_model(Silent), SHAPE, 3, Key(0)).pads


class Complex(Net):
    def __init__(self, classes):
        super().__init__(classes)
        self.phase = nn.Parameter(torch.ones(8, dtype=torch.complex64))

    def forward(self, x):
        return self.last((self.first(x.flatten(1)) * self.phase).real)


def test_a_complex_parameter():
    with pytest.raises(
        FedkinError, match=r"its parameter 'phase' is complex \(torch.complex64\): hold its real"
    ):
        build(given_model(Complex), SHAPE, 3, Key(0))
