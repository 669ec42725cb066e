"""Mixing canonical models by a membership: outputs, logits or parameters."""

import pytest
import torch

from fedkin.core.family import BERNOULLI, CATEGORICAL, FAMILIES
from fedkin.methods.parts.ppfl.mixing import (
    mixed_logits,
    mixed_outputs,
    mixed_parameters,
    prediction,
    stacked,
    unstacked,
)
from tests.methods.federation import CLASSES, WIDTH, architecture

C = torch.tensor([0.7, 0.1, 0.2], dtype=torch.float64)
GAUSSIAN = FAMILIES["gaussian"]


def canonical(params):
    return frozenset(name for name in params if name.startswith("out."))


def all_of(params):
    return frozenset(params)


def three_models(model, split):
    """θ: three canonical models, and shared layers as they are."""
    draw = torch.Generator().manual_seed(4)
    return {
        name: value
        + torch.randn(
            ((3, *value.shape) if name in split(model.initial) else value.shape),
            generator=draw,
            dtype=value.dtype,
        )
        for name, value in model.initial.items()
    }


def only(theta, k, split):
    return {name: value[k] if name in split(theta) else value for name, value in theta.items()}


def data(classes=CLASSES):
    draw = torch.Generator().manual_seed(9)
    x = torch.randn(6, WIDTH, generator=draw, dtype=torch.float64)
    return x, torch.tensor([0, 2, 1, 1, 0, 2]) % classes


@pytest.mark.parametrize("split", [canonical, all_of])
def test_models_apart_come_together_again(split) -> None:
    theta = three_models(architecture("dnn"), split)
    parts = unstacked(theta, split)
    shared = [name for name in theta if name not in split(theta)]
    assert sorted(parts) == sorted(
        [*shared, *(f"{k} {name}" for name in split(theta) for k in range(3))]
    )
    assert torch.equal(parts["2 out.bias"], theta["out.bias"][2])
    again = stacked(parts, theta)
    assert list(again) == list(theta)
    assert all(torch.equal(again[name], theta[name]) for name in theta)


@pytest.mark.parametrize("split", [canonical, all_of])
def test_all_weight_on_one_is_that_one(split) -> None:
    model, (x, y) = architecture("dnn"), data()
    theta = three_models(model, split)
    one = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    expected = model.family.nll(model.outputs(only(theta, 1, split), x), y)
    parts = unstacked(theta, split)
    for mixed, at in ((mixed_outputs, parts), (mixed_logits, parts), (mixed_parameters, theta)):
        found = mixed(model, at, one, x, y, model.outputs)
        torch.testing.assert_close(found, expected)


def test_structure_1_of_classes_mixes_logits() -> None:
    model, (x, y) = architecture("dnn"), data()
    theta = three_models(model, canonical)
    logits = sum(c * model.outputs(only(theta, k, canonical), x) for k, c in enumerate(C))
    found = mixed_outputs(model, unstacked(theta, canonical), C, x, y, model.outputs)
    torch.testing.assert_close(
        found, torch.nn.functional.cross_entropy(logits, y, reduction="none")
    )


def test_structure_1_of_other_families_mixes_means() -> None:
    model, (x, y) = architecture("dnn", family=BERNOULLI), data(2)
    theta = three_models(model, canonical)
    each = [model.outputs(only(theta, k, canonical), x)[:, 0].sigmoid() for k in range(3)]
    p = sum(c * mean for c, mean in zip(C, each))
    expected = -torch.where(y == 1, p.log(), (1 - p).log())
    found = mixed_outputs(model, unstacked(theta, canonical), C, x, y, model.outputs)
    torch.testing.assert_close(found.reshape(-1), expected)
    told = prediction(model, {"theta": theta, "membership": C}, x, 1, canonical, "means")
    torch.testing.assert_close(told, torch.stack([1 - p, p], 1).log())


def test_structure_2_mixes_parameters() -> None:
    model, (x, y) = architecture("dnn"), data()
    theta = three_models(model, canonical)
    blend = {
        name: (C[:, None, None] * v if v.dim() == 3 else C[:, None] * v).sum(0)
        if name in canonical(theta)
        else v
        for name, v in theta.items()
    }
    expected = model.family.nll(model.outputs(blend, x), y)
    found = mixed_parameters(model, theta, C, x, y, model.outputs)
    torch.testing.assert_close(found, expected)
    told = prediction(model, {"theta": theta, "membership": C}, x, 2, canonical, "means")
    torch.testing.assert_close(told, model.outputs(blend, x).log_softmax(1))
    assert model.family is CATEGORICAL


def test_predictions_mix_logits_where_asked() -> None:
    model, (x, _) = architecture("dnn", family=BERNOULLI), data(2)
    theta = three_models(model, canonical)
    view = {"theta": theta, "membership": C}
    logit = sum(c * model.outputs(only(theta, k, canonical), x)[:, 0] for k, c in enumerate(C))
    told = prediction(model, view, x, 1, canonical, "logits")
    torch.testing.assert_close(told[:, 1].exp(), logit.sigmoid())
    means = prediction(model, view, x, 1, canonical, "means")
    assert (told - means).abs().max() > 1e-3


def test_numbers_are_means() -> None:
    model, (x, _) = architecture("glm", family=GAUSSIAN), data()
    theta = three_models(model, all_of)
    told = prediction(model, {"theta": theta, "membership": C}, x, 1, all_of, "means")
    expected = sum(c * model.outputs(only(theta, k, all_of), x) for k, c in enumerate(C))
    assert told.shape == (6, 1)
    torch.testing.assert_close(told, expected)


def test_an_impossible_class_has_a_finite_logarithm() -> None:
    model, (x, _) = architecture("dnn", family=BERNOULLI), data(2)
    theta = three_models(model, all_of)
    theta["out.bias"] = torch.full((3, 1), -9e9, dtype=torch.float64)
    told = prediction(model, {"theta": theta, "membership": C}, x, 1, all_of, "means")
    assert torch.isfinite(told).all()
    assert told[:, 0].tolist() == [0] * 6
    assert told[:, 1].max() < -700
