"""The closed forms beside the loops."""

import numpy as np
import pytest

from tests.reference import quadratics as q
from tests.reference.local_fedavg import fedavg, local
from tests.reference.pfedme_cgpfl import cgpfl, moreau_client, pfedme
from tests.reference.ppfl import ppfl
from tests.reference.toy import finite_difference

D = 3


def clients(sizes=(5, 4, 6), seed=0):
    rng = np.random.default_rng(seed)
    data = {}
    for k, n in enumerate(sizes):
        data[k] = {"x": rng.normal(size=(n, D)) / 2.0, "y": rng.normal(size=n)}
    return data


def pairs(data, members=None):
    return [(data[k]["x"], data[k]["y"]) for k in (data if members is None else members)]


def plan(data, rounds, steps):
    return [{k: [None] * steps for k in data}] * rounds


def everybody(data, rounds):
    return [list(data)] * rounds


START = {"w": np.array([1.0, -2.0, 0.5])}


def test_by_hand():
    # f(w) = ½ (2w - 6)²: H = 4, w* = 3; lr 1/8: w - 3 halves: 0 -> 1.5 -> 2.25. prox, λ = 4, ω = 1:
    # (4 + 4)⁻¹ (12 + 4) = 2.
    A, b = np.array([[2.0]]), np.array([6.0])
    np.testing.assert_allclose(q.minimiser(A, b), [3.0])
    np.testing.assert_allclose(q.gradient_steps(A, b, np.array([0.0]), 0.125, 2), [2.25])
    np.testing.assert_allclose(q.prox_point(A, b, np.array([1.0]), 4.0), [2.0])
    # envelope gradient λ (ω - θ*) = 4 (1 - 2) = -4; a β = 1/8 step: 1.5
    np.testing.assert_allclose(q.moreau_gradient(A, b, np.array([1.0]), 4.0), [-4.0])
    np.testing.assert_allclose(q.moreau_steps(A, b, np.array([1.0]), 4.0, 0.125, 1), [1.5])
    # two clients H = 4, w* = 3 and H = 1, w* = 0, p = ½ each: (½ 12) / (½ 5) = 2.4
    other = (np.array([[1.0]]), np.array([0.0]))
    np.testing.assert_allclose(q.weighted_minimiser([(A, b), other], [0.5, 0.5]), [2.4])
    # two local steps, lr 1/8: M = 1/4, 49/64; m = 2.25, 0: w = 1.125 / (1 - (1/4 + 49/64)/2) =
    # 1.125 / (63/128) = 16/7
    np.testing.assert_allclose(
        q.fedavg_fixed_point([(A, b), other], [0.5, 0.5], 0.125, 2), [16 / 7]
    )


def test_gradients():
    data = clients()
    A, b = pairs(data)[0]
    w = START["w"]
    np.testing.assert_allclose(
        q.gradient(A, b, w), finite_difference(lambda v: q.value(A, b, v), w), atol=1e-8
    )

    def envelope(omega):
        theta = q.prox_point(A, b, omega, 2.0)
        return q.value(A, b, theta) + 1.0 * np.sum((theta - omega) ** 2)

    np.testing.assert_allclose(
        q.moreau_gradient(A, b, w, 2.0), finite_difference(envelope, w), atol=1e-8
    )
    G, r = q.envelope_matrices(A, b, 2.0)
    np.testing.assert_allclose(G @ w - r, q.moreau_gradient(A, b, w, 2.0), atol=1e-12)


@pytest.mark.parametrize("singular", [False, True])
def test_gradient_steps(singular):
    data = clients((2, 1, 2) if singular else (5, 4, 6))
    run = local(START, data, plan(data, 2, 7), everybody(data, 2), 0.2, q.quadratic_gradient)
    for k, (A, b) in enumerate(pairs(data)):
        np.testing.assert_allclose(
            run[1]["personal"][k]["w"], q.gradient_steps(A, b, START["w"], 0.2, 14), rtol=1e-11
        )


def test_prox_steps_and_limit():
    data = clients()
    A, b = pairs(data)[0]
    omega, theta = START["w"], np.array([0.3, 0.1, 2.0])
    # β = 0 keeps ω: the inner loop is prox_steps
    got = moreau_client(
        START, {"w": theta}, data[0], [None], 2.0, 0.1, 0.0, 6, gradient=q.quadratic_gradient
    )[1]["w"]
    np.testing.assert_allclose(got, q.prox_steps(A, b, theta, omega, 2.0, 0.1, 6), rtol=1e-12)
    far = moreau_client(
        START, None, data[0], [None], 2.0, 0.1, 0.0, 500, gradient=q.quadratic_gradient
    )[1]["w"]
    np.testing.assert_allclose(far, q.prox_point(A, b, omega, 2.0), rtol=1e-12)
    np.testing.assert_allclose(q.gradient(A, b, far) + 2.0 * (far - omega), 0.0, atol=1e-12)


@pytest.mark.parametrize("restart", [None, "step", "round"])
def test_moreau_steps(restart):
    data = clients()
    A, b = pairs(data)[0]
    omega, theta = moreau_client(
        START,
        None,
        data[0],
        [None] * 5,
        2.0,
        0.1,
        0.3,
        500,
        persist=restart is None,
        restart=restart or "step",
        gradient=q.quadratic_gradient,
    )
    np.testing.assert_allclose(
        omega["w"], q.moreau_steps(A, b, START["w"], 2.0, 0.3, 5), rtol=1e-11
    )
    before = q.moreau_steps(A, b, START["w"], 2.0, 0.3, 4)
    np.testing.assert_allclose(theta["w"], q.prox_point(A, b, before, 2.0), rtol=1e-11)


def test_pfedme_and_cgpfl_fixed_points():
    data = clients()
    run = pfedme(
        START,
        data,
        plan(data, 250, 1),
        everybody(data, 250),
        2.0,
        0.2,
        0.5,
        40,
        gradient=q.quadratic_gradient,
    )
    expected = q.moreau_fixed_point(pairs(data), 2.0)
    np.testing.assert_allclose(run[-1]["server"]["model"]["w"], expected, atol=1e-9)
    np.testing.assert_allclose(
        sum(q.moreau_gradient(A, b, expected, 2.0) for A, b in pairs(data)), 0.0, atol=1e-12
    )
    np.testing.assert_allclose(
        q.moreau_fixed_point_rounds(pairs(data), 2.0, 0.5, 1), expected, atol=1e-11
    )
    run = pfedme(
        START,
        data,
        plan(data, 120, 3),
        everybody(data, 120),
        2.0,
        0.2,
        0.5,
        40,
        alpha=0.7,
        gradient=q.quadratic_gradient,
    )
    fixed = q.moreau_fixed_point_rounds(pairs(data), 2.0, 0.5, 3)
    np.testing.assert_allclose(run[-1]["server"]["model"]["w"], fixed, atol=1e-9)
    assert np.max(np.abs(fixed - expected)) > 1e-4
    # two far groups: each model ends at its own cluster's fixed point
    data = clients((5, 5, 5, 5), seed=3)
    for k in (2, 3):
        data[k]["y"] = data[k]["x"] @ np.full(D, 50.0) + data[k]["y"]
    run = cgpfl(
        START,
        data,
        plan(data, 250, 1),
        everybody(data, 250),
        2.0,
        0.2,
        0.5,
        40,
        2,
        [[0, 2]] * 250,
        gradient=q.quadratic_gradient,
    )
    assignment = run[-1]["server"]["assignment"]
    for members in ([0, 1], [2, 3]):
        assert assignment[members[0]] == assignment[members[1]]
        got = run[-1]["server"]["models"][assignment[members[0]]]["w"]
        np.testing.assert_allclose(got, q.moreau_fixed_point(pairs(data, members), 2.0), atol=1e-6)


@pytest.mark.parametrize("steps", [1, 4])
def test_fedavg_fixed_point(steps):
    data = clients()
    sizes = [len(data[k]["y"]) for k in data]
    weights = [n / sum(sizes) for n in sizes]
    run = fedavg(
        START, data, plan(data, 600, steps), everybody(data, 600), 0.3, q.quadratic_gradient
    )
    fixed = q.fedavg_fixed_point(pairs(data), weights, 0.3, steps)
    np.testing.assert_allclose(run[-1]["server"]["model"]["w"], fixed, atol=1e-9)
    gap = np.max(np.abs(fixed - q.weighted_minimiser(pairs(data), weights)))
    assert gap < 1e-12 if steps == 1 else gap > 1e-4


@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize("c_scale", ["client", "paper"])
def test_ppfl_mirror_step(structure, c_scale):
    # the linear GLM's loss is the MEAN of ½ (y - ŷ)²: rows scaled by √n make it ½ ||A w - b||²
    data = clients()
    scaled = {k: {n: v * np.sqrt(len(c["y"])) for n, v in c.items()} for k, c in data.items()}
    rng = np.random.default_rng(1)
    Theta, W, lam, lr, lr_c = rng.normal(size=(D, 2)), np.ones((3, 3)), 0.3, 0.1, 0.7
    start = {"com": {}, "canonical": [{"weight": Theta[:, k][None]} for k in range(2)]}
    C = {k: rng.dirichlet(np.ones(2)) for k in data}
    every = [
        {
            k: [(np.arange(len(c["y"])), np.full(len(c["y"]), 1 / len(c["y"])))]
            for k, c in data.items()
        }
    ]
    run = ppfl(
        start,
        scaled,
        every,
        [[0, 1, 2]],
        lr,
        lr_c,
        lam,
        W,
        membership=C,
        structure=structure,
        family="linear",
        c_scale=c_scale,
        floor=0.0,
    )[0]
    sizes = [len(data[k]["y"]) for k in data]
    p = np.array(sizes) / sum(sizes)
    mean = sum(C.values()) / 3
    moved = np.zeros_like(Theta)
    for k, (A, b) in enumerate(pairs(data)):
        pull = 2 * lam * 3 * (C[k] - mean)  # (LC)_k of the complete graph with unit weights
        scale = p[k] if c_scale == "paper" else 1.0
        c = q.ppfl_mirror_step(A, b, Theta, C[k], lr_c, scale, pull)
        np.testing.assert_allclose(run["personal"][k], c, rtol=1e-12)
        # optimality of eq. 21 on the simplex: g + (1/η) log(c'/c) is constant
        g = scale * q.ppfl_c_gradient(A, b, Theta, C[k]) + pull
        slack = g + np.log(c / C[k]) / lr_c
        np.testing.assert_allclose(slack, slack[0], atol=1e-10)
        moved += p[k] * q.ppfl_theta_step(A, b, Theta, c, lr)
    got = np.array([m["weight"][0] for m in run["server"]["theta"]["canonical"]]).T
    np.testing.assert_allclose(got, moved, rtol=1e-12)
