"""Linear regression with whole-data batches: f_i(w) = ½ ‖A_i w − b_i‖², A = X / √n, b = y / √n, and
the exact answers.

Sizes are powers of two, so that the float32 weights 1/n of a batch are exact.
"""

import numpy as np
import pytest
import torch

from fedkin.core.family import GAUSSIAN
from tests.laws.small import method
from tests.methods.federation import WIDTH, Federated, architecture, arrays, population
from tests.reference import quadratics as exact

SIZES = (4, 8, 16, 8)


def federated(name, *, seed=0, people=None, draws=(), **case):
    hyper = {key: case.pop(key) for key in list(case) if key not in ("steps", "participation")}
    people = people or population(SIZES, family="gaussian", seed=seed)
    model = architecture("glm", 4, family=GAUSSIAN)
    return Federated(
        method(name, **hyper), people, {"glm": model}, batch_size=16, draws=draws, **case
    )


def quadratics(run):
    found = {}
    for k, client in run.data.items():
        root = np.sqrt(len(client["y"]))
        found[k] = client["x"] / root, client["y"] / root
    return found


def first(run):
    return arrays(run.models["glm"].initial)["weight"][0]


@pytest.mark.certifies("local", "closed form")
@pytest.mark.parametrize("steps", [1, 7])
def test_local_is_gradient_descent(steps):
    run = federated("local", lr=0.1, steps=steps).run(3)
    for k, (A, b) in quadratics(run).items():
        expected = exact.gradient_steps(A, b, first(run), 0.1, 3 * steps)
        np.testing.assert_allclose(
            run.moments[-1].own[k]["parameters"]["weight"][0], expected, rtol=1e-10
        )


@pytest.mark.certifies("fedavg", "closed form")
@pytest.mark.parametrize("steps", [1, 4])
def test_fedavg_fixed_point(steps):
    """With one local step the minimiser of Σ p_i f_i, with several another point: both known
    exactly, and stayed at.
    """
    run = federated("fedavg", lr=0.2, steps=steps)
    clients = list(quadratics(run).values())
    weights = [n / sum(SIZES) for n in SIZES]
    fixed = exact.fedavg_fixed_point(clients, weights, 0.2, steps)
    run.coordinator.state = {"parameters": {"weight": torch.from_numpy(fixed)[None]}}
    run.run(3, evaluate=False)
    np.testing.assert_allclose(run.moments[-1].state["parameters"]["weight"][0], fixed, rtol=1e-10)
    gap = np.abs(fixed - exact.weighted_minimiser(clients, weights)).max()
    assert gap < 1e-12 if steps == 1 else gap > 1e-4


@pytest.mark.certifies("pfedme", "closed form")
@pytest.mark.parametrize("inner", [1, 6])
def test_pfedme_prox_steps(inner):
    """θ after S steps towards the prox point of the received ω, and ω − βλ (ω − θ) sent: one
    mini-batch a round.
    """
    lam, eta, beta = 2.0, 0.1, 0.3
    run = federated("pfedme", lam=lam, personal_lr=eta, lr=beta, inner=inner, steps=1).run(1)
    w = first(run)
    for k, (A, b) in quadratics(run).items():
        theta = exact.prox_steps(A, b, w, w, lam, eta, inner)
        np.testing.assert_allclose(run.moments[0].own[k]["theta"]["weight"][0], theta, rtol=1e-10)
        sent = run.moments[0].up[k]["parameters"]["weight"][0]
        np.testing.assert_allclose(sent, w - beta * lam * (w - theta), rtol=1e-10)


@pytest.mark.certifies("pfedme", "closed form")
def test_pfedme_descends_the_moreau_envelope():
    """With S so large that θ is the prox point, R mini-batches are R gradient steps of size β on
    the envelope.
    """
    lam, beta = 2.0, 0.3
    run = federated("pfedme", lam=lam, personal_lr=0.2, lr=beta, inner=60, steps=3).run(1)
    w = first(run)
    for k, (A, b) in quadratics(run).items():
        sent = run.moments[0].up[k]["parameters"]["weight"][0]
        np.testing.assert_allclose(sent, exact.moreau_steps(A, b, w, lam, beta, 3), rtol=1e-8)
        before = exact.moreau_steps(A, b, w, lam, beta, 2)
        np.testing.assert_allclose(
            run.moments[0].own[k]["theta"]["weight"][0],
            exact.prox_point(A, b, before, lam),
            rtol=1e-8,
        )


@pytest.mark.certifies("pfedme", "closed form")
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_pfedme_fixed_point(alpha):
    """The minimiser of the uniform mean of the envelopes is stayed at: sizes do not count."""
    lam = 2.0
    run = federated("pfedme", lam=lam, personal_lr=0.2, lr=0.5, inner=60, beta=alpha, steps=1)
    fixed = exact.moreau_fixed_point(list(quadratics(run).values()), lam)
    start_at(run, [fixed], [0, 0, 0, 0])
    run.run(2, evaluate=False)
    np.testing.assert_allclose(run.moments[-1].state["models"]["weight"][0, 0], fixed, rtol=1e-8)


@pytest.mark.certifies("cgpfl", "closed form")
def test_cgpfl_two_far_groups_fixed_points():
    """Each cluster's model stays at its own group's fixed point."""
    people = population((8, 8, 16, 16), family="gaussian", seed=3)
    for k in (1, 3):
        rows = np.concatenate([people.train[k], people.val[k], people.test[k]])
        people.y[rows] += people.x[rows] @ people.x.new_full((WIDTH,), 30.0)
    hyper = {
        "lam": 2.0,
        "personal_lr": 0.2,
        "lr": 0.05,
        "inner": 60,
        "alpha": 1.0,
        "clusters": 2,
        "steps": 1,
    }
    run = federated("cgpfl", people=people, **hyper)
    clients = quadratics(run)
    fixed = [
        exact.moreau_fixed_point([clients[k] for k in members], 2.0) for members in ([0, 2], [1, 3])
    ]
    start_at(run, fixed, [0, 1, 0, 1])
    run.run(2, evaluate=False)
    state = run.moments[-1].state
    assert state["cluster"].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(state["models"]["weight"][:, 0], fixed, rtol=1e-8)


def start_at(run, models, cluster):
    if run.introduction is None:
        run.setup()
    stacked = {"weight": torch.tensor(np.array(models))[:, None]}
    run.coordinator.state = {
        **run.coordinator.state,
        "models": stacked,
        "cluster": torch.tensor(cluster),
    }


@pytest.mark.certifies("ppfl", "closed form")
@pytest.mark.parametrize("structure", [1, 2])
@pytest.mark.parametrize("scale", ["client", "paper"])
def test_ppfl_mirror_step(structure, scale):
    """Algorithm 3, one round: the minimiser over the simplex of ⟨g, c⟩ + KL(c ‖ 1/K) / η, then a θ
    step with it.
    """
    draws = [architecture("glm", 10 + k, family=GAUSSIAN) for k in range(3)]
    hyper = {
        "lam": 0.0,
        "membership_lr": 0.7,
        "membership_scale": scale,
        "structure": structure,
        "lr": 0.1,
    }
    run = federated("ppfl", draws=draws, steps=1, affinity="none", **hyper).run(1)
    Theta = np.array([arrays(model.initial)["weight"][0] for model in draws]).T
    p = np.array(SIZES) / sum(SIZES)
    moved = np.zeros_like(Theta)
    for k, (A, b) in quadratics(run).items():
        c = exact.ppfl_mirror_step(
            A, b, Theta, np.full(3, 1 / 3), 0.7, p[k] if scale == "paper" else 1.0
        )
        np.testing.assert_allclose(run.moments[0].state["memberships"][k], c, rtol=1e-10)
        moved += p[k] * exact.ppfl_theta_step(A, b, Theta, c, 0.1)
    np.testing.assert_allclose(run.moments[0].state["theta"]["weight"][:, 0].T, moved, rtol=1e-10)


@pytest.mark.certifies("ppfl", "closed form")
def test_ppfl_laplacian_of_two_by_hand():
    """W = ((0, 1), (1, 0)): L = D − W = ((1, −1), (−1, 1)): (LC)_0 = c_0 − c_1 = −(LC)_1, and 0
    where c_0 = c_1.

    A coded D without − W would give (LC)_0 = c_0: a pull that is not 0 at the even start, and not
    opposite.
    """
    people = population((4, 8), family="gaussian", seed=1)
    draws = [architecture("glm", 10 + k, family=GAUSSIAN) for k in range(3)]
    run = federated(
        "ppfl", people=people, draws=draws, steps=1, affinity=[[0, 1], [1, 0]], lam=0.25
    ).run(3)
    np.testing.assert_allclose(run.moments[0].down[0]["coefficients"]["pull"], 0.0, atol=1e-15)
    for before, moment in zip(run.moments, run.moments[1:], strict=False):
        c = before.state["memberships"]
        assert np.abs(c[0] - c[1]).max() > 1e-3
        np.testing.assert_allclose(
            moment.down[0]["coefficients"]["pull"], 0.25 * (c[0] - c[1]), rtol=1e-12
        )
        np.testing.assert_allclose(
            moment.down[1]["coefficients"]["pull"], 0.25 * (c[1] - c[0]), rtol=1e-12
        )
