import numpy as np
import pytest

from tests.reference.comet import comet, distillation_gradient, distillation_loss, predictions
from tests.reference.local_fedavg import local
from tests.reference.model import flatten, unflatten, whole
from tests.reference.toy import assert_close, finite_difference, make_data, make_model, make_plan

SIZES = [5, 9, 4, 7]


def public_setting(rounds, steps, rows=6, b=3):
    rng = np.random.default_rng(11)
    public = rng.normal(size=(rows, 3))
    return public, [
        {k: [rng.integers(0, rows, b) for _ in range(steps)] for k in range(len(SIZES))}
        for _ in range(rounds)
    ]


def test_golden():
    # Client 1 starts at s = (0.9, 0.1) everywhere (bias (ln 9, 0)) and is the only first
    # participant: the centroid is its s. Client 0: zero parameters, s = (1/2, 1/2), λ = 1, one
    # public row x = 1, one private row x = 2 with y = 1. v = s - s̄ = (-0.4, 0.4), J v = s ∘ v (as
    # s·v = 0) = (-0.2, 0.2), times 2 λ = (-0.4, 0.4): public dW = db = (-0.4, 0.4). Private dW =
    # (1, -1), db = (1/2, -1/2). Sum: dW = (0.6, -0.6), db = (0.1, -0.1). lr 1/2: W = (-0.3, 0.3), b
    # = (-0.05, 0.05).
    start = {
        0: {"weight": np.zeros((2, 1)), "bias": np.zeros(2)},
        1: {"weight": np.zeros((2, 1)), "bias": np.array([np.log(9.0), 0.0])},
    }
    row = {"x": np.array([[2.0]]), "y": np.array([1])}
    data, public = {0: row, 1: row}, np.array([[1.0]])
    run = comet(
        start,
        data,
        public,
        [{0: [whole(row)]}],
        [{0: [np.array([0])]}],
        [[0]],
        [1],
        1.0,
        0.5,
        1,
        [[0]],
    )[0]
    np.testing.assert_allclose(run["server"]["centroids"], [[[0.9, 0.1]]])
    assert_close(run["personal"][0], {"weight": [[-0.3], [0.3]], "bias": [-0.05, 0.05]})
    assert_close(run["personal"][1], start[1])
    # s of the new model at x = 1: logits (-0.35, 0.35)
    np.testing.assert_allclose(
        run["messages"][0], [[1 / (1 + np.exp(0.7)), 1 / (1 + np.exp(-0.7))]]
    )


@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_distillation_gradient(kind):
    rng = np.random.default_rng(0)
    params, x, target = (
        make_model(1, kind),
        rng.normal(size=(4, 3)),
        rng.dirichlet(np.ones(3), size=4),
    )
    numeric = finite_difference(
        lambda v: distillation_loss(unflatten(v, params), x, target, 1.7), flatten(params)
    )
    np.testing.assert_allclose(
        flatten(distillation_gradient(params, x, target, 1.7)), numeric, atol=1e-8
    )


def test_lambda_zero_is_local_and_architectures_may_differ():
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 3, 2)
    public, public_plan = public_setting(3, 2)
    start = {k: make_model(20 + k, "dnn" if k % 2 else "mlr") for k in data}
    active = [[0, 1, 3], [2, 1], [3, 0]]
    together = comet(
        start, data, public, plan, public_plan, active, [1, 2], 0.0, 0.1, 2, [[0, 1]] * 3
    )
    alone = local(start, data, plan, active, 0.1)
    for t in range(3):
        for k in data:
            assert_close(together[t]["personal"][k], alone[t]["personal"][k])


def test_messages_clusters_and_rounds():
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 3, 2)
    public, public_plan = public_setting(3, 2)
    start = {k: make_model(20 + k) for k in data}
    active = [[0, 1, 3], [2, 1], [3, 0]]
    run = comet(
        start, data, public, plan, public_plan, active, [1, 2], 2.0, 0.1, 1, [[0], [2], [1]]
    )
    # c = 1: the centroid is the mean of what the previous participants sent; in round 0 of the
    # untrained models
    np.testing.assert_allclose(
        run[0]["server"]["centroids"][0],
        (predictions(start[1], public) + predictions(start[2], public)) / 2,
    )
    np.testing.assert_allclose(
        run[1]["server"]["centroids"][0], sum(run[0]["messages"][k] for k in (0, 1, 3)) / 3
    )
    assert list(run[2]["server"]["assignment"]) == [2, 1]
    for k in (0, 3):
        np.testing.assert_allclose(
            run[2]["messages"][k], predictions(run[2]["personal"][k], public)
        )
    # c = m: every message is a centroid, and a client whose own message is there takes it
    run = comet(
        start, data, public, plan, public_plan, [[0, 1]] * 3, [0, 1], 2.0, 0.1, 2, [[0, 1]] * 3
    )
    assert run[1]["nearest"] == {0: 0, 1: 1}
    np.testing.assert_allclose(run[1]["server"]["centroids"][0], run[0]["messages"][0])
    # one λ per client
    other = comet(
        start,
        data,
        public,
        plan,
        public_plan,
        [[0, 1]] * 3,
        [0, 1],
        {0: 2.0, 1: 0.0},
        0.1,
        2,
        [[0, 1]] * 3,
    )
    assert_close(
        other[2]["personal"][1], local(start, data, plan, [[0, 1]] * 3, 0.1)[2]["personal"][1]
    )
    assert_close(
        other[2]["personal"][0], run[2]["personal"][0]
    )  # own centroid each: client 1 does not matter


def test_permuting_seeds_permutes_centroids():
    data, plan = make_data(1, SIZES), make_plan(3, SIZES, 1, 2)
    public, public_plan = public_setting(1, 2)
    start = {k: make_model(20 + k) for k in data}
    a = comet(
        start, data, public, plan, public_plan, [[0, 1, 2]], [0, 1, 2, 3], 2.0, 0.1, 2, [[0, 2]]
    )[0]
    b = comet(
        start, data, public, plan, public_plan, [[0, 1, 2]], [0, 1, 2, 3], 2.0, 0.1, 2, [[2, 0]]
    )[0]
    np.testing.assert_allclose(a["server"]["centroids"], b["server"]["centroids"][::-1])
    for k in data:
        assert_close(a["personal"][k], b["personal"][k])
