"""Per-FedAvg: at α = 0 it is FedAvg; on quadratics its step is the exact MAML gradient, and its
fixed point known.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.model import from_module
from fedkin.methods.fedavg import fedavg
from fedkin.methods.per_fedavg import per_fedavg
from tests.laws.small import close, federated, people, same
from tests.laws.test_closed_forms import SIZES, first, quadratics
from tests.laws.test_closed_forms import federated as quadratic
from tests.methods.federation import Federated, arrays
from tests.reference.model import batch_gradient, flatten, mean_loss, step, unflatten, whole
from tests.reference.per_fedavg import exact_meta_gradient, meta_gradient
from tests.reference.toy import finite_difference, make_data, make_model

WORK = {
    "all": {"epochs": 2},
    "some": {"epochs": 1, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}


@pytest.mark.certifies("per_fedavg", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hessian", ["hf", "fo"])
def test_without_adaptation_it_is_fedavg(hessian, work):
    """α = 0: the step is ∇f(w; D'), on FedAvg's own mini-batches: the same bits; both views are the
    global model.
    """
    per = federated(
        "per_fedavg", hyper={"inner_lr": 0.0, "hessian": hessian}, kind="dnn", **work
    ).run(4)
    plain = federated("fedavg", kind="dnn", **work).run(4)
    for a, b in zip(per.moments, plain.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.up, b.up)
        for k in b.record.scores:
            assert a.record.scores[k] == b.record.scores[k]


@pytest.mark.certifies("per_fedavg", "law")
def test_running_statistics_are_those_of_one_pass():
    """With batch norm too, α = 0 is FedAvg. Where the statistics are those of the inputs, they are
    FedAvg's for any α: refreshed once a step, by D', and no step of the weights moves them.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3)).double()
    models = {"norm": from_module("norm", net)}
    ends = {}
    for name, method in {
        "fedavg": fedavg(lr=0.2),
        "none": per_fedavg(lr=0.2, inner_lr=0.0),
        "some": per_fedavg(lr=0.2, inner_lr=0.1),
        "first order": per_fedavg(lr=0.2, inner_lr=0.1, hessian="fo"),
    }.items():
        run = Federated(method, people(), models, epochs=1).run(2)
        ends[name] = run.moments[-1].state["parameters"]
    assert same(ends["none"], ends["fedavg"])
    for name in ("some", "first order"):
        assert {key for key, value in ends[name].items() if same(value, ends["fedavg"][key])} == {
            "buffer:0.running_mean",
            "buffer:0.running_var",
        }


@pytest.mark.certifies("per_fedavg", "law")
def test_as_alpha_vanishes_it_tends_to_fedavg():
    """The distance is O(α)."""
    plain = federated("fedavg").run(2, evaluate=False).moments[-1].state["parameters"]["weight"]
    gaps = []
    for alpha in (1e-2, 1e-3, 1e-4):
        run = federated("per_fedavg", hyper={"inner_lr": alpha}).run(2, evaluate=False)
        gaps.append(np.abs(run.moments[-1].state["parameters"]["weight"] - plain).max())
    assert gaps[0] > 8 * gaps[1] > 64 * gaps[2] > 0


@pytest.mark.certifies("per_fedavg", "closed form")
@pytest.mark.parametrize("delta", [1e-2, 0.7])
def test_one_step_is_the_exact_maml_gradient(delta):
    """f = ½‖Aw − b‖²: w − β (I − αH)(H w' − Aᵀb), w' = w − α (H w − Aᵀb); the difference is exact,
    whatever δ.
    """
    alpha, beta = 0.3, 0.2
    run = quadratic("per_fedavg", lr=beta, inner_lr=alpha, delta=delta, steps=1).run(1)
    w = first(run)
    for k, (A, b) in quadratics(run).items():
        expected = w - beta * exact_meta_gradient(A, b, w, alpha)
        np.testing.assert_allclose(
            run.moments[0].up[k]["parameters"]["weight"][0], expected, rtol=1e-10
        )


@pytest.mark.certifies("per_fedavg", "closed form")
def test_first_order_leaves_out_the_hessian():
    alpha, beta = 0.3, 0.2
    run = quadratic("per_fedavg", lr=beta, inner_lr=alpha, hessian="fo", steps=1).run(1)
    w = first(run)
    for k, (A, b) in quadratics(run).items():
        ahead = w - alpha * A.T @ (A @ w - b)
        expected = w - beta * A.T @ (A @ ahead - b)
        np.testing.assert_allclose(
            run.moments[0].up[k]["parameters"]["weight"][0], expected, rtol=1e-10
        )


@pytest.mark.certifies("per_fedavg", "closed form")
def test_the_minimiser_of_the_meta_objective_is_stayed_at():
    """Σ p_i f_i(w − α∇f_i(w)) with one local step: (I − αH)² commutes with H, Σ p_i (I − αH_i)²(H_i
    w − r_i) = 0.
    """
    alpha, p = 0.3, np.array(SIZES) / sum(SIZES)
    run = quadratic("per_fedavg", lr=0.2, inner_lr=alpha, steps=1).setup()
    G, r = 0.0, 0.0
    for share, (A, b) in zip(p, quadratics(run).values(), strict=True):
        bend = np.linalg.matrix_power(np.eye(A.shape[1]) - alpha * A.T @ A, 2)
        G, r = G + share * bend @ A.T @ A, r + share * bend @ A.T @ b
    fixed = np.linalg.solve(G, r)
    run.coordinator.state = {"parameters": {"weight": torch.from_numpy(fixed)[None]}}
    run.run(3, evaluate=False)
    np.testing.assert_allclose(run.moments[-1].state["parameters"]["weight"][0], fixed, rtol=1e-9)


@pytest.mark.certifies("per_fedavg", "closed form")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_the_hessian_free_direction_is_the_gradient_of_the_loss_after_adaptation(kind):
    """No quadratic, whole-data batches: numerical derivatives of w ↦ f(w − α∇f(w)) themselves, and
    "fo" is not that.
    """
    alpha, client, w = 0.4, make_data(3, [9])[0], make_model(4, kind)
    batch = whole(client)

    def after(vector):
        here = unflatten(vector, w)
        return mean_loss(
            step(here, batch_gradient(here, client, batch), alpha), client["x"], client["y"]
        )

    exact = finite_difference(after, flatten(w), 1e-6)
    found = {
        name: flatten(meta_gradient(w, client, (batch,) * 3, alpha, name, 1e-4))
        for name in ("hf", "fo")
    }
    np.testing.assert_allclose(found["hf"], exact, atol=1e-7)
    assert np.abs(found["fo"] - exact).max() > 1e-3


@pytest.mark.certifies("per_fedavg", "law")
def test_the_personal_model_comes_from_training_data_alone():
    """Other validation and test samples give the same personal model."""
    group = people()
    x = group.x.clone()
    for k in range(group.clients):
        x[np.concatenate([group.val[k], group.test[k]])] += 9.0
    runs = [federated("per_fedavg", group=g).run(2) for g in (group, replace(group, x=x))]
    for k in range(group.clients):
        a, b = (arrays(run.coordinator.views(k, 2)) for run in runs)
        assert same(a, b)
        assert np.abs(a["personal"]["weight"] - a["global"]["weight"]).max() > 1e-4


def test_views_are_the_same_whenever_asked():
    run = federated("per_fedavg").run(1)
    close(run.coordinator.views(0, 1)["personal"], run.coordinator.views(0, 1)["personal"], 0)
