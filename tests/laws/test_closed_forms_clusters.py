"""ifca, hypcluster, fedem, clustered_fl on quadratics, whole-data batches: steps, fixed points and
splits are known.
"""

import numpy as np
import pytest
import torch

from fedkin.core.family import GAUSSIAN
from tests.laws.test_closed_forms import federated, quadratics
from tests.methods.federation import WIDTH, architecture, arrays, population
from tests.reference import quadratics as exact

SIZES, GROUPS = (8, 8, 16, 16), ([0, 2], [1, 3])


def far_groups():
    """Clients 1 and 3 label by another truth, far from that of 0 and 2."""
    people = population(SIZES, family="gaussian", seed=3)
    for k in GROUPS[1]:
        rows = np.concatenate([people.train[k], people.val[k], people.test[k]])
        people.y[rows] += people.x[rows] @ people.x.new_full((WIDTH,), 30.0)
    return people


def draws(count=2):
    return [architecture("glm", 10 + k, family=GAUSSIAN) for k in range(count)]


def first(models):
    return np.array([arrays(model.initial)["weight"][0] for model in models])


def fixed_points(run, lr, steps):
    clients = quadratics(run)
    return np.array(
        [
            exact.fedavg_fixed_point(
                [clients[k] for k in group],
                np.array([SIZES[k] for k in group]) / sum(SIZES[k] for k in group),
                lr,
                steps,
            )
            for group in GROUPS
        ]
    )


@pytest.mark.certifies("ifca", "closed form")
@pytest.mark.parametrize("steps", [1, 4])
def test_ifca_fixed_points(steps):
    """Each group's FedAvg fixed point is stayed at, and everybody takes that of its group."""
    run = federated("ifca", people=far_groups(), draws=draws(), clusters=2, lr=0.1, steps=steps)
    fixed = fixed_points(run, 0.1, steps)
    stacked = {"weight": torch.from_numpy(fixed)[:, None]}
    run.coordinator.state = {**run.coordinator.state, "parameters": stacked}
    run.run(3)
    assert run.moments[-1].state["cluster"].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(
        run.moments[-1].state["parameters"]["weight"][:, 0], fixed, rtol=1e-9
    )


@pytest.mark.certifies("hypcluster", "closed form")
@pytest.mark.parametrize("steps", [1, 4])
def test_hypcluster_keeps_the_start_at_the_fixed_points(steps):
    """Of two starts the one at the groups' FedAvg fixed points has the least loss: it is kept, and
    stays there.
    """
    hyper = {"clusters": 2, "starts": 2, "trial": 2, "lr": 0.1}
    run = federated("hypcluster", people=far_groups(), draws=draws(4), steps=steps, **hyper).setup()
    fixed = fixed_points(run, 0.1, steps)
    sets = {
        **run.coordinator.state["parameters"],
        "start1": {"weight": torch.from_numpy(fixed)[:, None]},
    }
    run.coordinator.state = {**run.coordinator.state, "parameters": sets}
    run.run(3)
    (kept,) = run.moments[-1].state["parameters"].items()
    assert kept[0] == "start1"
    np.testing.assert_allclose(kept[1]["weight"][:, 0], fixed, rtol=1e-9)


@pytest.mark.certifies("ifca", "closed form")
def test_ifca_gradient_averaging_divides_by_all_participants():
    """θ_j − γ Σ_{i in j} (n_i / Σ n) ∇f_i(θ_j), as the paper's γ/m: not by the members' samples
    alone.
    """
    lr = 0.1
    run = federated(
        "ifca", people=far_groups(), draws=draws(), clusters=2, lr=lr, average="gradients", steps=7
    )
    start = fixed_points(run, lr, 1) + 1.0
    run.coordinator.state = {
        **run.coordinator.state,
        "parameters": {"weight": torch.from_numpy(start)[:, None]},
    }
    run.run(1)
    expected = start.copy()
    for j, group in enumerate(GROUPS):
        for k in group:
            A, b = quadratics(run)[k]
            expected[j] -= lr * SIZES[k] / sum(SIZES) * exact.gradient(A, b, start[j])
    np.testing.assert_allclose(
        run.moments[-1].state["parameters"]["weight"][:, 0], expected, rtol=1e-10
    )


@pytest.mark.certifies("fedem", "closed form")
@pytest.mark.parametrize("steps", [1, 5])
def test_fedem_one_round(steps):
    """q_k(s) ∝ exp(−½ r²); each component then descends ½ Σ q (xθ − y)² / n, a quadratic with rows
    scaled by √q.
    """
    lr, models = 0.1, draws(3)
    run = federated(
        "fedem",
        people=population(SIZES, family="gaussian", seed=3),
        draws=models,
        lr=lr,
        steps=steps,
    )
    run.run(1)
    theta, moved = first(models), np.zeros((3, WIDTH))
    for k, client in run.data.items():
        likelihood = np.exp(-0.5 * (client["y"][:, None] - client["x"] @ theta.T) ** 2)
        q = likelihood / likelihood.sum(1, keepdims=True)
        np.testing.assert_allclose(run.moments[0].own[k]["membership"], q.mean(0), rtol=1e-10)
        A, b = quadratics(run)[k]
        for j in range(3):
            root = np.sqrt(q[:, j])
            moved[j] += (
                SIZES[k]
                / sum(SIZES)
                * exact.gradient_steps(root[:, None] * A, root * b, theta[j], lr, steps)
            )
    np.testing.assert_allclose(run.moments[0].state["parameters"]["weight"][:, 0], moved, rtol=1e-9)


@pytest.mark.certifies("clustered_fl", "closed form")
@pytest.mark.parametrize("steps", [1, 3])
def test_clustered_fl_splits_exactly_into_the_groups(steps):
    """By its defaults: once, into the two groups, whose models then go to their FedAvg fixed points
    and stay one.
    """
    hyper = {"eps1": 0.2, "eps2": 0.4, "gamma": 0.5}
    run = federated("clustered_fl", people=far_groups(), lr=0.2, steps=steps, **hyper)
    run.run(250 if steps == 1 else 100, evaluate=False)
    counts = [moment.record.server_metrics["clusters"][-1] for moment in run.moments]
    assert counts[0] == 1
    assert set(counts) == {1, 2}
    assert counts == sorted(counts)
    last = run.moments[-1].state
    assert last["cluster"].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(
        last["parameters"]["weight"][:, 0], fixed_points(run, 0.2, steps), rtol=1e-6
    )


@pytest.mark.certifies("clustered_fl", "closed form")
def test_the_split_conditions_by_hand():
    """At w = 0, the minimiser of equally large clients with f_i = ½‖w − a_i‖², a_i = ±e, one step
    is Δ_i = lr a_i.

    Mean 0, norms lr, α_cross = −1: sqrt((1 + 1) / 2) = 1, so every γ < 1 splits and γ = 1 does not.
    """
    for gamma, count in ((0.99, 2), (1.0, 1)):
        run = federated(
            "clustered_fl",
            people=opposite(),
            lr=0.5,
            steps=1,
            unit="absolute",
            eps1=1e-6,
            eps2=0.4,
            gamma=gamma,
        )
        run.coordinator.state = {
            **run.coordinator.state,
            "parameters": {"weight": torch.zeros(1, 1, WIDTH).double()},
        }
        run.run(1)
        assert run.moments[0].record.server_metrics["clusters"] == {-1: count}
        np.testing.assert_allclose(
            list(run.moments[0].record.server_metrics["update"].values()), 0.5, rtol=1e-12
        )
        np.testing.assert_allclose(
            list(run.moments[0].record.server_metrics["mean_update"].values()), 0.0, atol=1e-12
        )


def opposite():
    """Four clients of four samples with XᵀX / n = I and labels x·a, a = (1, 0, 0, 0) or its
    opposite.
    """
    people = population((4, 4, 4, 4), family="gaussian", seed=1)
    for k in range(4):
        rows = people.train[k]
        people.x[rows] = 2.0 * torch.eye(4, WIDTH, dtype=people.x.dtype)
        people.y[rows] = people.x[rows][:, 0] * (1.0 if k in (0, 3) else -1.0)
    return people
