"""L2SGD: λ = 0 is local training; on quadratics the expected step vanishes at the minimiser, and
forced coins have a known fixed point.
"""

import numpy as np
import pytest
import torch

from fedkin.methods.l2sgd import l2sgd
from tests.laws.small import federated, same
from tests.laws.test_closed_forms import federated as quadratic
from tests.laws.test_closed_forms import quadratics
from tests.reference.l2sgd import alternating_fixed_point, minimiser

LR, LAM, P = 0.2, 0.7, 0.4


@pytest.mark.certifies("l2sgd", "law")
@pytest.mark.parametrize("milestones", [(), (2,)])
def test_without_pull_it_is_local_training(milestones):
    """λ = 0: the same bits as local training with as many steps as the coin gave."""
    run = federated("l2sgd", hyper={"lam": 0.0}, kind="dnn", milestones=milestones).run(
        4, evaluate=False
    )
    local = federated("local", kind="dnn", milestones=milestones)
    for moment in run.moments:
        steps = moment.down[0]["control"]["steps"]
        local.host.schedule = local.host.schedule._replace(steps=steps)
        alone = local.run(1, evaluate=False).moments[-1]
        assert same(moment.own, alone.own)


@pytest.mark.certifies("l2sgd", "law")
def test_a_full_pull_starts_everybody_at_the_mean():
    """lr λ (1−p)/p = 1: clients forget themselves, as in FedAvg with equal weights and this number
    of steps.
    """
    run = federated("l2sgd", hyper={"lam": 1 / (0.2 * 1.5), "p": 0.4}).run(4, evaluate=False)
    fedavg = federated("fedavg").setup()
    for moment in run.moments:
        fedavg.host.schedule = fedavg.host.schedule._replace(
            steps=moment.down[0]["control"]["steps"]
        )
        mean = moment.down[0]["parameters"]
        fedavg.coordinator.state = {"parameters": {n: torch.from_numpy(v) for n, v in mean.items()}}
        uploads = fedavg.run(1, evaluate=False).moments[-1].up
        for k, up in uploads.items():
            for n, value in up["parameters"].items():
                np.testing.assert_allclose(moment.up[k]["parameters"][n], value, atol=1e-12)
                mean = np.mean([u["parameters"][n] for u in moment.up.values()], axis=0)
                np.testing.assert_allclose(moment.state["parameters"][n], mean, atol=1e-12)


def start_at(run, models, pulls, steps):
    """All clients at these models, the server at their mean, and the next round's coins as told."""
    if run.introduction is None:
        run.setup()
    for k, w in enumerate(models):
        run.host.keep(k, {"parameters": {"weight": torch.from_numpy(w)[None]}})
    mean = torch.from_numpy(models.mean(0))[None]
    run.coordinator.state = {"parameters": {"weight": mean}, "pulls": pulls, "steps": steps}


def sent(run):
    return np.array([up["parameters"]["weight"][0] for up in run.moments[-1].up.values()])


@pytest.mark.certifies("l2sgd", "closed form")
def test_the_expected_step_vanishes_at_the_minimiser():
    """At the minimiser of (1/M) Σ f_i(w_i) + (λ/2M) Σ ‖w_i − w̄‖²: p · (a pull's move) + (1 − p) ·
    (a local move) = 0.

    A round has at least one local step; a pull's move is found by undoing it.
    """
    moves = {}
    for pulls in (0, 1):
        run = quadratic("l2sgd", lr=LR, lam=LAM, p=P)
        clients = list(quadratics(run).values())
        best = minimiser(clients, LAM)
        start_at(run, best, pulls, 1)
        after = sent(run.run(1, evaluate=False))
        undone = [
            np.linalg.solve(np.eye(len(w)) - LR * A.T @ A, w - LR * A.T @ b)
            for w, (A, b) in zip(after, clients, strict=True)
        ]
        moves[pulls] = after - best if pulls == 0 else np.array(undone) - best
    assert np.abs(moves[0]).max() > 1e-3
    np.testing.assert_allclose(P * moves[1] + (1 - P) * moves[0], 0.0, atol=1e-12)


@pytest.mark.certifies("l2sgd", "closed form")
@pytest.mark.parametrize(("pulls", "steps"), [(1, 1), (3, 2)])
def test_fixed_point_of_forced_coins(pulls, steps):
    """j pulls and k local steps over and over, without chance: the fixed point is known and stayed
    at.
    """
    run = quadratic("l2sgd", lr=LR, lam=LAM, p=P)
    share = LR * LAM * (1 - P) / P
    fixed = alternating_fixed_point(list(quadratics(run).values()), share, LR, pulls, steps)
    start_at(run, fixed, pulls, steps)
    for _ in range(3):
        run.run(1, evaluate=False)
        np.testing.assert_allclose(sent(run), fixed, rtol=1e-9)
        run.coordinator.state = {**run.coordinator.state, "pulls": pulls, "steps": steps}


@pytest.mark.certifies("l2sgd", "closed form")
def test_small_steps_lead_to_the_minimiser():
    """p = ½ and turns about: as the step shrinks, the fixed point tends to the
    minimiser, linearly.
    """
    run = quadratic("l2sgd", lr=LR, lam=LAM, p=P)
    clients = list(quadratics(run).values())
    best = minimiser(clients, LAM)
    gaps = [
        np.abs(alternating_fixed_point(clients, lr * LAM, lr, 1, 1) - best).max()
        for lr in (0.1, 0.01, 0.001)
    ]
    assert gaps[0] > 7 * gaps[1] > 49 * gaps[2] > 0
    moved = []
    for lr in (0.1, 0.01):  # from the minimiser, one turn moves by O(lr²): its two halves cancel
        run = quadratic("l2sgd", lr=lr, lam=LAM, p=0.5)
        start_at(run, best, 1, 1)
        moved.append(np.abs(sent(run.run(1, evaluate=False)) - best).max())
    assert moved[0] > 50 * moved[1] > 0


@pytest.mark.certifies("l2sgd", "closed form")
def test_the_coins_lead_to_the_minimiser_on_average():
    """With real coins and a small step, the mean of the models after many rounds is near the
    minimiser, and nearer than what local training or a full mean would give.
    """
    run = quadratic("l2sgd", lr=0.02, lam=LAM, p=P)
    clients = list(quadratics(run).values())
    best, alone, together = (
        minimiser(clients, LAM),
        minimiser(clients, 1e-9),
        minimiser(clients, 1e6),
    )
    start_at(run, best, 1, 1)
    run.run(250, evaluate=False)
    average = np.mean(
        [[up["parameters"]["weight"][0] for up in moment.up.values()] for moment in run.moments],
        axis=0,
    )
    gap = np.abs(average - best).max()
    assert gap < 0.1 * min(np.abs(alone - best).max(), np.abs(together - best).max())


def test_the_pull_is_on_by_default():
    assert l2sgd(lr=0.1).hyper["lam"] > 0
