"""Mean features of each class, and predictions by them."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit
from fedkin.core.model import head_of
from fedkin.core.rng import Key
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.methods.parts.prototypes import (
    LEAST,
    nearest,
    of_classes,
    prototypes,
    size_of_features,
)
from fedkin.runtime.replay import Runtime
from tests.methods.federation import CLASSES, HIDDEN, WIDTH, architecture, population

DRAW = torch.Generator().manual_seed(3)


def drawn(*shape):
    return torch.randn(*shape, generator=DRAW, dtype=torch.float64)


MODEL = architecture("dnn")
W = MODEL.initial
X, Y = drawn(5, WIDTH), torch.tensor([2, 0, 2, 0, 1])
CENTROIDS = drawn(CLASSES, HIDDEN)
KNOWN = torch.tensor([3.0, 1.0, 0.0], dtype=torch.float64)


def test_sums_of_classes_count_real_rows() -> None:
    counts = torch.tensor([1.0, 1, 1, 1, 0], dtype=torch.float64)
    sums, members = of_classes(X, Y, counts, 4)
    assert members.tolist() == [2, 0, 2, 0]
    torch.testing.assert_close(sums[2], X[0] + X[2])
    assert not sums[1].any()


def test_prototypes_of_a_client() -> None:
    people = population(sizes=(5, 11))
    info = ClientInfo(1, "dnn", 11, torch.ones(CLASSES), 0, CLASSES)
    data = LocalData(info, MODEL, Key(7, 1, 1), people, Runtime("never"), Schedule(4, steps=1))
    found, counts = prototypes(data, W)
    x, y = people.part(1, "train")
    features = head_of(MODEL).features(W, x)
    assert counts.tolist() == torch.bincount(y, minlength=CLASSES).tolist()
    for j in range(CLASSES):
        mean = features[y == j].mean(0) if (y == j).any() else torch.zeros(HIDDEN).double()
        torch.testing.assert_close(found[j], mean)


def test_a_client_without_samples_has_none() -> None:
    class Nobody:
        def whole(self, split):
            return []

    with pytest.raises(ValueError, match="a client without training samples has no prototypes"):
        prototypes(Nobody(), W)


def test_the_nearest_known_prototype_predicts() -> None:
    features = head_of(MODEL).features(W, X)
    centroids = torch.stack([features[3], features[1] + 0.1, features[1]])
    view = {"parameters": W, "centroids": centroids, "coefficients": KNOWN}
    told = nearest(MODEL, view, X)
    squared = ((features[:, None] - centroids[:2]) ** 2).sum(2)
    torch.testing.assert_close(told[:, :2], (-squared).log_softmax(1))
    assert told[:, 2].tolist() == [LEAST] * 5  # nobody has sent a prototype of class 2
    assert int(told[3].argmax()) == 0


def test_without_prototypes_the_head_predicts() -> None:
    torch.testing.assert_close(
        nearest(MODEL, {"parameters": W}, X), MODEL.outputs(W, X).log_softmax(1)
    )


def test_features_must_be_equally_many() -> None:
    def start(**sizes):
        heads = {name: head_of(MODEL)._replace(size=size) for name, size in sizes.items()}
        return FederationInit({}, (0,), 0, 3, lambda k: W, heads=heads)

    assert size_of_features(start(small=5, large=5), "fedproto") == 5
    with pytest.raises(FedkinError, match=r"^fedproto compares .*: small 5, large 7; choose"):
        size_of_features(start(small=5, large=7), "fedproto")
