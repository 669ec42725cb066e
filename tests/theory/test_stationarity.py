"""PPFL's equations 16 and 26 against closed forms."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.ops import simplex_step
from fedkin.theory.stationarity import iterate_weights, mirror_step, sampled_round, stationarity

C = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]])
SLOPES = np.array([[1.0, -0.4, 0.3], [0.2, 2.0, -1.5]])
W = np.array([[1.0, 0.6], [0.6, 1.0]])
LAPLACIAN = np.diag(W.sum(1)) - W
NAN = float("nan")


def test_the_mirror_step_is_that_of_the_method() -> None:
    moved = mirror_step(C, SLOPES, 0.7)
    np.testing.assert_allclose(moved.sum(1), 1)
    ours = simplex_step(torch.from_numpy(C), torch.from_numpy(SLOPES), 0.7)
    np.testing.assert_allclose(moved, ours.numpy(), rtol=1e-12)
    assert np.isfinite(mirror_step(C, -1e4 * SLOPES, 1.0)).all()
    steep = np.array([[-2000.0, 0.0, 0.0]])  # towards the model that has no weight
    moved = mirror_step(np.array([[0.0, 0.5, 0.5]]), steep, 1.0)
    assert moved.tolist() == [[0.0, 0.5, 0.5]]


def test_the_criterion_is_equation_26_by_hand() -> None:
    lam, step = 0.3, 0.5
    found = stationarity([3.0, 4.0], C, SLOPES, LAPLACIAN, lam=lam, step=step)
    assert found.theta == 5
    total = 0.0
    for i in range(2):
        pull = [sum(LAPLACIAN[i, j] * C[j, k] for j in range(2)) for k in range(3)]
        raw = [C[i, k] * np.exp(-step * (SLOPES[i, k] + 2 * lam * pull[k])) for k in range(3)]
        total += sum(abs(C[i, k] - raw[k] / sum(raw)) for k in range(3)) / step
    assert found.memberships == pytest.approx(total)
    assert found.squared == pytest.approx(25 + total**2)


def test_it_is_zero_at_stationary_points_and_only_there() -> None:
    even = np.full((2, 3), 1 / 3)
    flat = np.repeat([[0.4], [-2.0]], 3, axis=1)  # equal slopes: no model is better for anybody
    assert stationarity([0.0], C, flat, 0 * LAPLACIAN, lam=0, step=1).squared == pytest.approx(
        0, abs=1e-28
    )
    assert stationarity([0.0], even, flat, LAPLACIAN, lam=9, step=1).squared == pytest.approx(
        0, abs=1e-28
    )
    corner = np.array(
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    )  # a corner stays, whatever the slopes: mirror descent's own
    assert stationarity([0.0], corner, SLOPES, 0 * LAPLACIAN, lam=0, step=1).squared == 0
    assert stationarity([0.0], C, SLOPES, LAPLACIAN, lam=0, step=1).squared > 0.1


def test_for_small_steps_it_is_the_gradient_of_the_simplex() -> None:
    """(c − c₊)/η → c ∘ (g − ⟨c, g⟩): the limit that is known in closed form."""
    limit = np.abs(C * (SLOPES - (C * SLOPES).sum(1, keepdims=True))).sum()
    apart = [
        abs(stationarity(0.0, C, SLOPES, LAPLACIAN, lam=0, step=s).memberships - limit)
        for s in (1e-2, 1e-3, 1e-4)
    ]
    assert apart[0] > 5 * apart[1] > 25 * apart[2]
    assert apart[2] < 1e-3


def test_iterates_are_weighted_as_equation_16_says() -> None:
    eta, share, smooth = np.array([0.01, 0.02, 0.005]), 0.7, (5.0, 3.0)
    raw = [e * min(0.7 * (1 - 4 * e * 5), 0.3 * (1 - e / 2 * 3)) for e in eta]
    found = iterate_weights(eta, theta_share=share, smoothness=smooth)
    np.testing.assert_allclose(found, np.array(raw) / sum(raw))
    tight = iterate_weights(
        [0.01, 0.049], theta_share=0.5, smoothness=smooth
    )  # here θ's block is the lesser one
    assert tight[1] < tight[0]
    np.testing.assert_allclose(
        iterate_weights([0.01] * 4, theta_share=share, smoothness=smooth), 0.25
    )


def test_the_sampled_round_has_that_distribution() -> None:
    eta = [0.04, 0.04, 0.01]
    weights = iterate_weights(eta, theta_share=0.5, smoothness=(1.0, 1.0))
    drawn = [
        sampled_round(eta, seed, theta_share=0.5, smoothness=(1.0, 1.0)) for seed in range(600)
    ]
    assert set(drawn) == {1, 2, 3}
    assert drawn[:5] == [
        sampled_round(eta, seed, theta_share=0.5, smoothness=(1.0, 1.0)) for seed in range(5)
    ]
    shares = np.bincount(drawn, minlength=4)[1:] / 600
    assert np.abs(shares - weights).max() < 0.06


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: stationarity(0.0, C, SLOPES[:1], LAPLACIAN, lam=0, step=1),
            r"slopes \[clients, K\]",
        ),
        (lambda: stationarity(0.0, 2 * C, SLOPES, LAPLACIAN, lam=0, step=1), "on the simplex"),
        (lambda: stationarity(0.0, C, SLOPES, LAPLACIAN, lam=0, step=0), "step > 0"),
        (
            lambda: iterate_weights([0.06], theta_share=0.5, smoothness=(5.0, 3.0)),
            "must be below 0.05",
        ),
        (lambda: iterate_weights([], theta_share=0.5, smoothness=(5.0, 3.0)), "needs steps > 0"),
        (lambda: iterate_weights([NAN], theta_share=0.5, smoothness=(5.0, 3.0)), "needs steps > 0"),
        (lambda: iterate_weights([0.1], theta_share=0.5, smoothness=(NAN, 3.0)), "smoothness > 0"),
        (lambda: stationarity(0.0, NAN * C, SLOPES, LAPLACIAN, lam=0, step=1), "on the simplex"),
        (lambda: stationarity(0.0, C, SLOPES, LAPLACIAN, lam=NAN, step=1), "lam of at least 0"),
        (lambda: iterate_weights([0.1], theta_share=1.0, smoothness=(1.0, 1.0)), "theta_share"),
    ],
)
def test_mistakes_are_told(call, words) -> None:
    with pytest.raises(FedkinError, match=words):
        call()
