"""A model's head: where it begins, for the whole zoo and for modules of a user's own."""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL
from fedkin.core.method import FederationInit
from fedkin.core.model import Batch, collecting_buffers, from_module, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.rng import Key
from fedkin.methods import METHODS
from fedkin.models.build import MODELS, build
from fedkin.models.head import some_samples, with_head
from fedkin.runtime.precision import lowered
from fedkin.runtime.replay import Runtime
from tests.models.test_build import SHAPES, TEXTS, inputs_of

HEADS = {  # name → (shape, the head's parameters, numbers in a row)
    "dnn": ((1, 8, 8), "3", 128),
    "dnn_adapter": ((1, 28, 28), "head", 128),
    "cnn_persfl": ((3, 32, 32), "classifier.4", 84),
    "cnn_comet": ((3, 32, 32), "classifier.8", 50),
    "cnn_cgpfl": ((1, 28, 28), "classifier.2", 512),
    "vgg11": ((3, 32, 32), None, 512),
    "vgg13": ((3, 32, 32), None, 512),
    "resnet18": ((1, 28, 28), None, 512),
    "mobilenet_v2": ((1, 28, 28), None, 1280),
    "transformer_lm": ((12,), "logits", 64),
    "lstm": ((12,), "logits", 256),
}


def made(name, shape, classes=7, **how):
    return build(name, shape, classes, Key(3), inputs=inputs_of(name), **how)


def test_every_model_of_the_zoo_is_told_here():
    assert {*HEADS, "mlr", "glm"} == set(MODELS)


@pytest.mark.parametrize("name", HEADS)
def test_the_zoo(name):
    """Outputs are the scores of features, in evaluation and in training."""
    shape, layer, size = HEADS[name]
    assert shape in SHAPES[name]
    model = made(name, shape)
    head = head_of(model)
    assert (head.size, head.linear) == (size, True)
    assert layer is None or head.names == (f"{layer}.weight", f"{layer}.bias")
    assert model.initial[head.names[0]].shape == (7, size)
    x = some_samples(shape, 7, name in TEXTS)
    w = {key: value + 0.01 for key, value in model.initial.items()}
    with torch.no_grad():
        found = head.features(w, x)
        assert found.shape == (2, size)
        mine = {key: w[key] for key in head.names}  # the head needs nothing else
        torch.testing.assert_close(head.scores(mine, found), model.outputs(w, x))
        training = head.train_features(w, x)
        torch.testing.assert_close(head.scores(mine, training), model.train_outputs(w, x))
        norm = any(key.startswith("buffer:") for key in w)
        assert torch.equal(found, training) != norm


@pytest.mark.parametrize("name", ["mlr", "glm"])
def test_one_layer_is_no_head(name):
    model = made(name, (60,), family="gaussian" if name == "glm" else "categorical")
    with pytest.raises(FedkinError, match=rf"'{name}' has no head: .* choose one with a hidden"):
        head_of(model)


class Own(nn.Module):
    """Two linear layers; what ``end`` says follows the last."""

    def __init__(self, end: nn.Module | None = None, first: nn.Module | None = None) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(5)
        self.top = nn.Sequential(nn.Linear(4, 3), end or nn.Identity())
        self.body = first or nn.Linear(5, 4)  # named after the head, and used before it

    def forward(self, x):
        return self.top(torch.relu(self.body(self.norm(x))))


def own(module, named=None):
    module = module.double()
    x = torch.rand(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return with_head(from_module("own", module), module, x, named)


def test_it_is_found_by_what_it_does_not_by_its_place():
    assert head_of(own(Own())).names == ("top.0.weight", "top.0.bias")


def test_a_named_one():
    """The end of a model may be more than a layer."""
    model = own(Own(nn.LogSoftmax(1)), "top")
    head = head_of(model)
    assert (head.names, head.size, head.linear) == (("top.0.weight", "top.0.bias"), 4, False)
    x = torch.rand(6, 5, dtype=torch.float64)
    w = {name: value * 1.5 for name, value in model.initial.items()}
    torch.testing.assert_close(head.scores(w, head.features(w, x)), model.outputs(w, x))


@pytest.mark.parametrize(
    ("module", "named", "said"),
    [
        (Own(), "tip", "unknown head of model 'own':.*did you mean 'top'"),
        (Own(), "body", "its output is not the model's"),
        (Own(nn.Dropout()), "top", "dropout and batch norm train otherwise than they predict"),
        (Own(), "top.1", "has no parameters"),
        (nn.Sequential(nn.Identity(), nn.Linear(5, 3)), "1", "one layer only"),
    ],
)
def test_names_that_are_no_head(module, named, said):
    with pytest.raises(FedkinError, match=said):
        own(module, named)


def test_none_is_recognised():
    with pytest.raises(FedkinError, match=r"'own' has no head: no linear layer's.*model\.head"):
        head_of(own(Own(nn.LogSoftmax(1))))


class Tied(nn.Module):
    """Symbols' vectors are the head's rows, too."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols, self.top = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.top.weight = self.symbols.weight

    def forward(self, x):
        return self.top(self.symbols(x).mean(1))


def test_a_layer_whose_weights_are_anothers_too():
    module, x = Tied(), torch.tensor([[1, 2], [3, 5]])
    with pytest.raises(FedkinError, match="has no head: no linear layer"):
        head_of(with_head(from_module("tied", module), module, x))


@pytest.mark.parametrize("mode", ["never", "trace", "always"])
def test_features_are_trained_through(mode):
    """A step of a loss on features and scores: traced and compiled it is what autograd takes, and
    the running statistics of batch norm move once.
    """
    model = own(Own())
    x = torch.rand(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    block = Batch(x, torch.tensor([[0, 1, 2, 0, 1, 1]] * 2), torch.full((2, 6), 1 / 6).double())
    with torch.inference_mode():
        ended = Runtime(mode).scan(pulled, model, model.initial, [block], ())
    w, norm = model.initial, "buffer:norm.running_mean"
    for at in range(2):
        w = pulled(model, w, Batch(*(part[at] for part in block)))
    for name, value in w.items():
        torch.testing.assert_close(ended[name], value, rtol=1e-12, atol=1e-12)
    assert not torch.equal(ended["body.weight"], model.initial["body.weight"])
    moved = 0.9 * (0.9 * 0 + 0.1 * x[0].mean(0)) + 0.1 * x[1].mean(0)
    torch.testing.assert_close(ended[norm], moved, rtol=1e-12, atol=1e-12)


def pulled(model, w, batch):
    """Cross-entropy and ½‖features‖², from one pass."""

    def loss(w):
        found = head_of(model).train_features(w, batch.x)
        scores = head_of(model).scores(w, found)
        rows = CATEGORICAL.nll(scores, batch.y) + 0.5 * found.square().sum(1)
        return (rows * batch.weight).sum()

    return descend(w, gradient(loss)(w), 0.1)


def test_nothing_stays_in_the_module():
    module = Own().double()
    model = own(module)
    with collecting_buffers():
        head_of(model).train_features(model.initial, torch.rand(4, 5, dtype=torch.float64))
    assert not any(part._forward_hooks for part in module.modules())


def test_bfloat16_features_are_float32_again():
    model = lowered(made("dnn", (1, 8, 8)), "bfloat16")
    x = some_samples((1, 8, 8), 7, tokens=False)
    found = head_of(model).train_features(model.initial, x)
    plain = head_of(model).features(model.initial, x)
    assert found.dtype == torch.float32
    assert 0 < float((found - plain).abs().max()) < 0.05


class HeadFirst(nn.Module):
    """Its head is declared before the body that feeds it, or after it."""

    def __init__(self, first: bool = True) -> None:
        super().__init__()
        if first:
            self.out = nn.Linear(4, 3)
        self.body = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4))
        if not first:
            self.out = nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.relu(self.body(x)))


@pytest.mark.parametrize("named", [None, "out"])
@pytest.mark.parametrize("name", ["fedper", "fedrep", "fedbabu"])
def test_a_model_is_split_at_its_head_wherever_that_is_declared(name, named):
    module = HeadFirst()
    model = own(module, named)
    assert model.initial.keys() == from_module("own", module).initial.keys()
    start = FederationInit({"own": model.initial}, (0,), 0, 3, lambda number: model.initial)
    (shared,) = METHODS[name](lr=0.1).server(start).values()
    assert shared.keys() == model.initial.keys() - {"out.weight", "out.bias"}


def test_a_head_that_is_declared_last_leaves_the_order_as_it_was():
    module = HeadFirst(first=False)
    assert list(own(module).initial) == list(from_module("own", module).initial)
