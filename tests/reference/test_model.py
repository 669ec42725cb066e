"""The models' losses and gradients: hand-derived numbers and finite differences."""

import numpy as np
import pytest

from tests.reference.kmeans import brute_force, lloyd, partitions
from tests.reference.model import (
    backward,
    batch_gradient,
    cross_entropy,
    cross_entropy_gradient,
    flatten,
    logits,
    softmax,
    softmax_vjp,
    unflatten,
    whole,
)
from tests.reference.toy import assert_close, finite_difference, make_batches, make_data, make_model


def test_mlr_by_hand():
    # zero parameters: p = (1/2, 1/2), loss = ln 2; dz = p - onehot(1) = (1/2, -1/2); x = 2 gives dW
    # = dz * 2, db = dz
    zero = {"weight": np.zeros((2, 1)), "bias": np.zeros(2)}
    x, y, weight = np.array([[2.0]]), np.array([1]), np.array([1.0])
    assert cross_entropy(zero, x, y, weight) == pytest.approx(np.log(2.0), abs=1e-15)
    assert_close(
        cross_entropy_gradient(zero, x, y, weight), {"weight": [[1.0], [-1.0]], "bias": [0.5, -0.5]}
    )


def test_dnn_by_hand():
    # h = relu((1, -1) * 3) = (3, 0); z = (3 v, 0) with V = [[v, 0], [0, 0]], v = 0: p = (1/2, 1/2),
    # y = 0: dz = (-1/2, 1/2). dV = dz hᵀ = [[-3/2, 0], [3/2, 0]]. With V = [[1, 0], [0, 0]]: dh =
    # Vᵀ dz = (dz_0, 0), dH = dh * [before > 0] * 3.
    params = {
        "hidden.weight": np.array([[1.0], [-1.0]]),
        "hidden.bias": np.zeros(2),
        "out.weight": np.zeros((2, 2)),
        "out.bias": np.zeros(2),
    }
    x, y, weight = np.array([[3.0]]), np.array([0]), np.array([1.0])
    g = cross_entropy_gradient(params, x, y, weight)
    np.testing.assert_allclose(g["out.weight"], [[-1.5, 0.0], [1.5, 0.0]], atol=1e-15)
    np.testing.assert_allclose(g["hidden.weight"], 0.0, atol=1e-15)
    params["out.weight"] = np.array([[1.0, 0.0], [0.0, 0.0]])
    g = backward(params, x, np.array([[-0.5, 0.5]]))
    np.testing.assert_allclose(g["hidden.weight"], [[-1.5], [0.0]], atol=1e-15)
    np.testing.assert_allclose(g["hidden.bias"], [-0.5, 0.0], atol=1e-15)


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_gradients_by_finite_differences(kind):
    rng = np.random.default_rng(0)
    params = make_model(1, kind)
    x, y, weight = rng.normal(size=(5, 3)), rng.integers(0, 3, 5), rng.dirichlet(np.ones(5))
    exact = flatten(cross_entropy_gradient(params, x, y, weight))
    numeric = finite_difference(
        lambda v: cross_entropy(unflatten(v, params), x, y, weight), flatten(params)
    )
    np.testing.assert_allclose(exact, numeric, atol=2e-9)
    # any loss by its dlogits: sum(sin(z) * m)
    m = rng.normal(size=(5, 3))
    exact = flatten(backward(params, x, np.cos(logits(params, x)) * m))
    numeric = finite_difference(
        lambda v: float(np.sum(np.sin(logits(unflatten(v, params), x)) * m)), flatten(params)
    )
    np.testing.assert_allclose(exact, numeric, atol=5e-8)


def test_softmax_vjp_is_the_jacobian():
    rng = np.random.default_rng(0)
    z, v = rng.normal(size=(1, 4)), rng.normal(size=(1, 4))
    numeric = finite_difference(lambda u: float(np.sum(softmax(u[None]) * v)), z[0])
    np.testing.assert_allclose(softmax_vjp(softmax(z), v)[0], numeric, atol=1e-9)


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_padding_rows_count_for_nothing(kind):
    data = make_data(0, [6])[0]
    index, weight = make_batches(np.random.default_rng(1), 6, 1, 5)[0]
    real = weight > 0
    assert 0 < real.sum() < 5
    params = make_model(1, kind)
    assert_close(
        batch_gradient(params, data, (index, weight)),
        batch_gradient(params, data, (index[real], weight[real])),
    )


def test_whole_batch_and_flatten():
    data = make_data(0, [6])[0]
    index, weight = whole(data)
    assert list(index) == list(range(6))
    assert weight.sum() == pytest.approx(1.0)
    params = make_model(1, "dnn")
    assert_close(unflatten(flatten(params), params), params)


def test_large_logits_stay_finite():
    params = {"weight": np.array([[1000.0], [-1000.0]]), "bias": np.zeros(2)}
    assert cross_entropy(
        params, np.array([[1.0]]), np.array([1]), np.array([1.0])
    ) == pytest.approx(2000.0)


def test_lloyd_by_hand():
    # points 0, 1, 5, 7 from seeds 0 and 1: {0}, {1, 5, 7} -> means 0, 13/3 -> {0, 1}, {5, 7} ->
    # means 1/2, 6, settled
    points = np.array([[0.0], [1.0], [5.0], [7.0]])
    centroids, labels, updates = lloyd(points, [0, 1])
    np.testing.assert_allclose(centroids, [[0.5], [6.0]])
    assert list(labels) == [0, 0, 1, 1]
    assert updates == 2
    # two equal seeds: every point of cluster 1 ties with cluster 0 and goes there; cluster 1 stays
    # on its seed, then keeps it
    centroids, labels, _ = lloyd(np.array([[2.0], [2.0], [2.0]]), [0, 1])
    assert list(labels) == [0, 0, 0]
    np.testing.assert_allclose(centroids, [[2.0], [2.0]])


def test_brute_force_is_the_optimum():
    assert sum(1 for _ in partitions(5, 3)) == 25  # Stirling number of the second kind S(5, 3)
    np.testing.assert_allclose(
        brute_force(np.array([[0.0], [1.0], [5.0], [7.0]]), 2), [[0.5], [6.0]]
    )
