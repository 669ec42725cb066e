"""What [model] frozen names, what is refused, and how a frozen part behaves in training."""

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, from_module
from fedkin.core.rng import Key
from fedkin.models.build import build
from fedkin.models.frozen import frozen_names
from fedkin.setup.arguments.keywords import given_model

SHAPE = (1, 6, 5)


def dnn(**options):
    return build("dnn", SHAPE, 3, Key(1), hidden=4, **options)


@pytest.mark.parametrize(
    ("choice", "held"),
    [
        ("body", {"1.weight", "1.bias"}),
        ("first", {"1.weight", "1.bias"}),
        ("last", {"3.weight", "3.bias"}),
        (["1."], {"1.weight", "1.bias"}),
        (("3.bias", "1.w"), {"3.bias", "1.weight"}),
        (["*weight"], {"1.weight", "3.weight"}),
    ],
)
def test_names_are_told_as_layers_are(choice, held):
    model, whole = dnn(frozen=choice), dnn()
    assert set(model.frozen) == held
    assert list(model.initial) == [name for name in whole.initial if name not in held]
    assert all(value.equal(whole.initial[name]) for name, value in model.frozen.items())
    assert all(value.equal(whole.initial[name]) for name, value in model.initial.items())
    x = torch.rand(5, *SHAPE)
    assert model.outputs(model.initial, x).equal(whole.outputs(whole.initial, x))


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (["1.wieght"], r"unknown model.frozen of 'dnn': '1.wieght': did you mean '1.weight'\?"),
        ("all", "model.frozen leaves nothing of model 'dnn' to train: leave out some of 1.weight"),
        (["1.", "3."], "leaves nothing"),
        ([""], "leaves nothing"),
    ],
)
def test_what_cannot_be_frozen(choice, why):
    with pytest.raises(FedkinError, match=why):
        dnn(frozen=choice)


def test_a_model_of_one_layer_has_no_body():
    with pytest.raises(FedkinError, match="model 'mlr' has no head: it has one layer only"):
        build("mlr", SHAPE, 3, Key(1), frozen="body")


def test_the_word_body_is_refused_where_a_part_of_the_body_is_called_so():
    with pytest.raises(
        FedkinError, match=r"write \['body.'\] for the part, or \['body.', 'adapter"
    ):
        build("dnn_adapter", SHAPE, 3, Key(1), frozen="body")
    part, all_of_it = (
        build("dnn_adapter", SHAPE, 3, Key(1), frozen=choice)
        for choice in (("body.",), ("body.", "adapter."))
    )
    assert any(name.startswith("adapter.") for name in part.initial)
    assert {name.split(".")[0] for name in all_of_it.initial} == {"head"}


def test_a_head_over_a_frozen_body_is_the_same_head():
    model, whole = dnn(frozen="body"), dnn()
    x = torch.rand(5, *SHAPE)
    assert model.head is not None
    assert whole.head is not None
    assert model.head.names == ("3.weight", "3.bias")
    features = model.head.features(model.initial, x)
    assert features.equal(whole.head.features(whole.initial, x))
    assert model.head.scores(model.initial, features).equal(model.outputs(model.initial, x))
    half = dnn(frozen=["3.bias"])
    assert half.head is not None
    assert half.head.names == ("3.weight",)
    assert half.head.scores(half.initial, features).equal(model.outputs(model.initial, x))


def test_a_frozen_head_is_none():
    model = dnn(frozen="last")
    assert model.head is None
    assert model.why_no_head == "model.frozen holds it"


def test_other_values_are_seen_everywhere():
    model, whole, x = dnn(frozen="body"), dnn(), torch.rand(5, *SHAPE)
    twice = model.holding({name: 2 * value for name, value in model.frozen.items()})
    w = {**whole.initial, **twice.frozen}
    assert twice.outputs(twice.initial, x).equal(whole.outputs(w, x))
    batch = Batch(x, torch.tensor([0, 1, 2, 0, 1]), torch.full((5,), 0.2))
    assert twice.loss(twice.initial, batch).equal(whole.loss(w, batch))
    assert twice.head is not None
    assert whole.head is not None
    assert twice.head.train_features(twice.initial, x).equal(whole.head.features(w, x))
    assert not twice.outputs(twice.initial, x).equal(model.outputs(model.initial, x))


class Normed(nn.Module):
    """Two layers of batch norm."""

    def __init__(self, shape, classes):
        super().__init__()
        self.first, self.norm = nn.Linear(30, 4), nn.BatchNorm1d(4)
        self.second, self.last = nn.BatchNorm1d(4, affine=False), nn.Linear(4, classes)
        with torch.no_grad():
            self.norm.running_mean.copy_(torch.tensor([0.1, -0.2, 0.3, 0.0]))
            self.norm.running_var.copy_(torch.tensor([0.5, 2.0, 1.0, 0.1]))

    def forward(self, x):
        return self.last(self.second(torch.relu(self.norm(self.first(x.flatten(1))))))


@pytest.mark.parametrize(
    ("choice", "still"), [(["first.", "norm."], True), (["first.", "norm.weight"], False)]
)
def test_frozen_batch_norm_stands_still(choice, still):
    model = build(given_model(Normed), SHAPE, 3, Key(2), frozen=choice)
    whole = build(given_model(Normed), SHAPE, 3, Key(2))
    assert model.pads is False  # the second one moves in either case
    assert ("buffer:norm.running_mean" in model.frozen) is still
    assert ("buffer:norm.running_mean" in model.initial) is not still
    x = torch.rand(7, *SHAPE)
    w = {**model.initial, **model.frozen}
    before = {name: value.clone() for name, value in model.frozen.items()}
    trained = model.train_outputs(model.initial, x)
    by_its_batch = whole.train_outputs(w, x)
    assert trained.equal(by_its_batch) is not still
    assert torch.allclose(trained, by_its_batch, atol=1e-3) is not still
    assert all(model.frozen[name].equal(value) for name, value in before.items())
    assert model.outputs(model.initial, x).equal(whole.outputs(w, x))


def test_rows_may_be_padded_where_all_batch_norm_stands_still():
    module = Normed(SHAPE, 3)
    whole = from_module("normed", module)
    names = frozen_names(whole, ["first.", "norm."])
    statistics = {name for name in whole.initial if name.startswith("buffer:second.")}
    assert len(statistics) == 2
    assert from_module("normed", module, frozen=names).pads is False
    still = from_module("normed", module, frozen=names | statistics)
    assert still.pads is True
    x = torch.rand(6, *SHAPE)
    torch.testing.assert_close(
        still.train_outputs(still.initial, x[:2]), still.train_outputs(still.initial, x)[:2]
    )


class Counted:
    """A learner that is no torch module."""

    def __init__(self, shape, classes):
        self.classes = classes

    def start(self):
        return {"counts": np.ones(self.classes, dtype=np.float32)}

    def fit(self, state, parts):
        return state

    def predict(self, state, x):
        return np.tile(state["counts"] / state["counts"].sum(), (len(x), 1))


def test_a_learner_cannot_be_frozen():
    assert not build(given_model(Counted), SHAPE, 3, Key(1)).frozen
    with pytest.raises(FedkinError, match=r"is no torch module: leave model\.frozen out"):
        build(given_model(Counted), SHAPE, 3, Key(1), frozen="body")


class Tied(nn.Module):
    """An encoder and a decoder that share one weight, which goes by the encoder's name."""

    def __init__(self, classes):
        super().__init__()
        self.enc, self.dec = nn.Linear(30, 30), nn.Linear(30, 30)
        self.last = nn.Linear(30, classes)
        self.dec.weight = self.enc.weight

    def forward(self, x):
        return self.last(torch.relu(self.dec(torch.relu(self.enc(x.flatten(1))))))


@pytest.mark.parametrize(
    ("choice", "held"),
    [
        (["dec."], {"enc.weight", "dec.bias"}),
        (["dec.weight"], {"enc.weight"}),
        (["enc."], {"enc.weight", "enc.bias"}),
        (["*.weight"], {"enc.weight", "last.weight"}),
        ("first", {"enc.weight", "enc.bias"}),
        ("last", {"last.weight", "last.bias"}),
    ],
)
def test_a_weight_with_two_names_is_frozen_by_either(choice, held):
    model = build(given_model(Tied), SHAPE, 3, Key(1), frozen=choice)
    assert set(model.frozen) == held
    assert not held & set(model.initial)
