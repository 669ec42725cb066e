"""The references of the public-set methods: gradients against finite differences, and small numbers
by hand.
"""

import numpy as np
import pytest

from tests.reference import ds_fl, fedmd, kt_pfl
from tests.reference.model import flatten, softmax, unflatten
from tests.reference.toy import make_model

RNG = np.random.default_rng(4)
X = RNG.normal(size=(6, 3))
TARGET = softmax(RNG.normal(size=(6, 3)))


def central(function, v, h=1e-6):
    return np.array([(function(v + h * e) - function(v - h * e)) / (2 * h) for e in np.eye(len(v))])


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_imitation_gradient(kind, temperature):
    w = make_model(3, kind)
    numeric = central(
        lambda v: ds_fl.imitation_loss(unflatten(v, w), X, TARGET, temperature), flatten(w)
    )
    np.testing.assert_allclose(
        flatten(ds_fl.imitation_gradient(w, X, TARGET, temperature)), numeric, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_digest_gradient(kind):
    w, consensus = make_model(3, kind), RNG.normal(size=(6, 3))
    numeric = central(lambda v: fedmd.digest_loss(unflatten(v, w), X, consensus), flatten(w))
    np.testing.assert_allclose(flatten(fedmd.digest_gradient(w, X, consensus)), numeric, atol=1e-7)


def test_slope_of_knowledge():
    z = [softmax(RNG.normal(size=(4, 3))) for _ in range(3)]
    row = np.array([0.5, 0.2, 0.3])
    numeric = central(lambda v: kt_pfl.objective(v, 1, z, 1.5, 0.4), row)
    np.testing.assert_allclose(kt_pfl.slope(row, 1, z, 1.5, 0.4), numeric, atol=1e-8)


def test_onto_simplex():
    """(0.9, 0.5, -1): theta = 0.2 takes the first two to (0.7, 0.3), the third stays below 0."""
    np.testing.assert_allclose(
        kt_pfl.onto_simplex(np.array([0.9, 0.5, -1.0])), [0.7, 0.3, 0.0], atol=1e-15
    )


def test_sharpened():
    """T = 0.5 and (0.7, 0.3): odds e^(0.4 / 0.5) = e^0.8."""
    odds = np.exp(0.8)
    np.testing.assert_allclose(
        ds_fl.sharpened(np.array([[0.7, 0.3]]), 0.5), [[odds / (1 + odds), 1 / (1 + odds)]]
    )
