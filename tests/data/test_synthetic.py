"""The two made data sets follow their definitions: the mixture and the toy."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.synthetic import linear_toy, synthetic_mixture


def test_linear_toy_follows_its_model() -> None:
    source = linear_toy(rows=4000, noise=3.0, seed=1)
    assert source.client is not None
    assert np.abs(source.x).max() <= 10
    for k in range(3):
        mine = source.client == k
        residual = source.y[mine] - source.x[mine] @ source.truth["w"][k]
        assert residual.std() == pytest.approx(3.0, rel=0.1)
    zeta = np.stack(
        [
            linear_toy(rows=1, seed=s).truth["w"] - linear_toy(rows=1, seed=s).truth["theta"]
            for s in range(400)
        ]
    )
    np.testing.assert_allclose(zeta.std(axis=(0, 2)), [2, 5, 200], rtol=0.12)


def test_mixture_follows_its_definition() -> None:
    source = synthetic_mixture(clients=40, dim=20, test_rows=400, seed=2)
    assert source.client is not None
    assert source.official_test is not None
    alpha, theta, component = (source.truth[key] for key in ("alpha", "theta", "component"))
    np.testing.assert_allclose(alpha.sum(axis=1), 1)
    assert np.abs(theta).max() <= 1
    assert np.abs(source.x).max() <= 1
    np.testing.assert_allclose(source.x.std(), 1 / np.sqrt(3), rtol=0.01)
    train = np.bincount(source.client[~source.official_test], minlength=40)
    assert train.min() >= 50
    assert train.max() <= 1000
    assert (np.bincount(source.client[source.official_test]) == 400).all()
    for k in range(40):
        mine = component[(source.client == k) & source.official_test]
        np.testing.assert_allclose(np.bincount(mine, minlength=3) / 400, alpha[k], atol=0.12)
    logit = np.einsum("nd,nd->n", source.x, theta[component])
    clear = np.abs(logit) > 0.5  # five deviations of the noise
    np.testing.assert_array_equal(source.y[clear], (logit > 0)[clear])
    near = np.abs(logit) < 0.02
    assert 0.05 < np.mean(source.y[near] != (logit > 0)[near]) < 0.5


def test_mixture_weights_are_dirichlet() -> None:
    alpha = synthetic_mixture(clients=3000, dim=1, test_rows=1, largest=50, seed=1).truth["alpha"]
    assert alpha.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert alpha.var() == pytest.approx(1 / 3 * 2 / 3 / (3 * 0.4 + 1), rel=0.05)


def test_mixture_is_seeded_and_refuses_nonsense() -> None:
    one, same, other = (synthetic_mixture(clients=3, dim=4, test_rows=5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.x, same.x)
    assert one.x.shape != other.x.shape or not np.array_equal(one.x, other.x)
    assert synthetic_mixture(
        clients=3, dim=400, test_rows=500, features="normal"
    ).x.std() == pytest.approx(1, rel=0.01)
    for wrong in (
        {"clients": 0},
        {"alpha": 0},
        {"features": "cauchy"},
        {"largest": 10},
        {"noise": -1},
    ):
        with pytest.raises(FedkinError):
            synthetic_mixture(**wrong)  # type: ignore[arg-type]
