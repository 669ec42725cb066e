"""f_i(θ, c) of PPFL, what its gradients are, and which parameters there are K of."""

from types import SimpleNamespace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.family import BERNOULLI, CATEGORICAL
from fedkin.core.model import Batch
from fedkin.methods.parts.ppfl.canonical_models import CanonicalModels
from tests.methods.federation import WIDTH, architecture

C = torch.tensor([0.7, 0.1, 0.2], dtype=torch.float64)
WAYS = [(1, "means"), (1, "logits"), (2, "means")]


def models(family):
    return [architecture("dnn", seed, family=family) for seed in (1, 2, 3)]


def batch(classes):
    draw = torch.Generator().manual_seed(9)
    x = torch.randn(6, WIDTH, generator=draw, dtype=torch.float64)
    weight = torch.arange(1.0, 7.0, dtype=torch.float64)
    return Batch(x, torch.tensor([0, 2, 1, 1, 0, 2]) % classes, weight / weight.sum())


def test_shared_layers_are_of_the_first_model() -> None:
    first, *others = models(CATEGORICAL)
    drawn = [model.initial for model in (first, *others)]
    theta = CanonicalModels("out.", 1, "means").stacked(first.initial, drawn)
    assert torch.equal(theta["out.bias"], torch.stack([w["out.bias"] for w in drawn]))
    assert torch.equal(theta["hidden.weight"], first.initial["hidden.weight"])
    assert list(theta) == list(first.initial)


def test_something_is_canonical() -> None:
    w = {"a.weight": torch.ones(2), "a.buffer:mean": torch.ones(2)}
    with pytest.raises(FedkinError, match="canonical layer"):
        CanonicalModels((), 1, "means").stacked(w, [w, w])


@pytest.mark.parametrize("layers", ["all", "out."])
@pytest.mark.parametrize(("structure", "mixing"), WAYS)
@pytest.mark.parametrize("family", [CATEGORICAL, BERNOULLI], ids=["classes", "binary"])
def test_gradients_are_of_what_is_predicted(layers, structure, mixing, family) -> None:
    """Both are slopes of the mean negative logarithm of ``predict`` at the labels."""
    model, *_ = drawn = models(family)
    f = CanonicalModels(layers, structure, mixing)
    theta = f.stacked(model.initial, [one.initial for one in drawn])
    rows = batch(3 if family is CATEGORICAL else 2)

    def told(at, c):
        log = f.predict(model, {"theta": at, "membership": c}, rows.x)
        return -log.gather(1, rows.y[:, None])[:, 0] @ rows.weight

    of_theta, of_c = torch.func.grad(told, argnums=(0, 1))(theta, C)
    found = f.theta_gradient(theta, model, C, rows)
    assert list(found) == list(theta)
    for name, value in of_theta.items():
        torch.testing.assert_close(found[name], value)
    torch.testing.assert_close(f.membership_gradient(C, model, theta, rows), of_c)
    halves = [Batch(*(leaf[part] for leaf in rows)) for part in (slice(4), slice(4, 6))]
    data = SimpleNamespace(model=model, whole=lambda split: halves if split == "train" else [])
    torch.testing.assert_close(f.full_membership_gradient(C, theta, data), of_c)
