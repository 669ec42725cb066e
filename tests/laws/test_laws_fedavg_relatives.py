"""FedProx, SCAFFOLD, Ditto, FedAvg-FT, APFL: what they are at the edge of their hyper-parameters,
and on quadratics.
"""

import numpy as np
import pytest
import torch

from fedkin.core.tree import map_tree
from tests.laws.small import close, federated, finished, people, same
from tests.laws.test_closed_forms import SIZES, first, quadratics
from tests.laws.test_closed_forms import federated as linear
from tests.methods.federation import arrays, population
from tests.reference import quadratics as exact
from tests.reference.local_fedavg import train
from tests.reference.model import accuracy, mean_loss

ROUNDS = 4
WORK = {
    "all": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}
EVERY = pytest.mark.parametrize("work", WORK.values(), ids=WORK)
P = np.array(SIZES) / sum(SIZES)


def run(name, rounds=ROUNDS, **how):
    return federated(name, **how).run(rounds, evaluate=False)


# --- reductions


@pytest.mark.certifies("fedprox", "law")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@EVERY
def test_fedprox_without_pull_is_fedavg(work, kind):
    for a, b in zip(
        run("fedprox", hyper={"mu": 0.0}, kind=kind, **work).moments,
        run("fedavg", kind=kind, **work).moments,
        strict=True,
    ):
        close(a.state, b.state)
        close(a.up, b.up)


@pytest.mark.certifies("fedprox", "law")
def test_fedprox_pulls_more_the_larger_mu_is():
    """One round from the same model: uploads come nearer to it."""
    moves = []
    for mu in (0.0, 0.5, 2.0):
        end = run("fedprox", 1, hyper={"mu": mu}, steps=6).moments[0]
        moves.append(
            [
                np.linalg.norm(up["parameters"]["weight"] - end.down[k]["parameters"]["weight"])
                for k, up in end.up.items()
            ]
        )
    assert (np.array(moves[0]) > np.array(moves[1])).all()
    assert (np.array(moves[1]) > np.array(moves[2])).all()


@pytest.mark.certifies("scaffold", "law")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_scaffold_with_zero_controls_and_one_step_is_fedavg(kind):
    """Clients of one size, so that plain mean and mean by samples are one; also with several steps
    a round, as long as the controls are put back to zero.
    """
    for steps in (1, 3):
        group = people(sizes=(6,) * 6)
        scaffold = federated(
            "scaffold", group=group, kind=kind, steps=steps, participation=0.6
        ).setup()
        fedavg = federated("fedavg", group=group, kind=kind, steps=steps, participation=0.6).run(
            ROUNDS, evaluate=False
        )
        for other in fedavg.moments:
            now = scaffold.run(1, evaluate=False).moments[-1]
            close(now.state["parameters"]["model"], other.state["parameters"])
            state = scaffold.coordinator.state
            zero = map_tree(torch.zeros_like, state["parameters"]["control"])
            scaffold.coordinator.state = {
                **state,
                "parameters": {**state["parameters"], "control": zero},
            }
            for k in scaffold.infos:
                scaffold.host.store.put(k, {"control": zero})


@pytest.mark.certifies("scaffold", "law")
def test_scaffolds_server_control_is_the_mean_of_the_clients():
    """c = (1/N) Σ c_i over all clients, present or not, at all times."""
    for moment in run("scaffold", 6, participation=0.5, milestones=(2,)).moments:
        controls = [own["control"] for own in moment.own.values()]
        mean = {name: np.mean([c[name] for c in controls], axis=0) for name in controls[0]}
        close(moment.state["parameters"]["control"], mean, 1e-12)


@pytest.mark.certifies("ditto", "law")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@EVERY
def test_ditto_without_pull_is_local_beside_fedavg(work, kind):
    hyper = {"lam": 0.0, "personal_steps": None}
    runs = [
        run(name, hyper=hyper if name == "ditto" else {}, kind=kind, **work)
        for name in ("ditto", "local", "fedavg")
    ]
    for ditto, local, fedavg in zip(*(r.moments for r in runs), strict=True):
        close(ditto.own, local.own)
        assert same(ditto.state, fedavg.state)
        assert same(ditto.up, fedavg.up)


@pytest.mark.certifies("ditto", "law")
def test_dittos_global_model_knows_nothing_of_the_personal_ones():
    for lam in (0.3, 2.0):
        ditto = run("ditto", hyper={"lam": lam, "personal_steps": 7}, participation=0.6)
        for a, b in zip(ditto.moments, run("fedavg", participation=0.6).moments, strict=True):
            assert same(a.state, b.state)


@pytest.mark.certifies("finetune", "law")
def test_finetune_is_fedavg_until_the_end():
    """And then training from its last model; the global view does not move."""
    work = {"epochs": 2, "participation": 0.6}
    tuned, fedavg = (
        run("finetune", hyper={"epochs": 2, "personal_lr": 0.1}, **work),
        run("fedavg", **work),
    )
    for a, b in zip(tuned.moments, fedavg.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.up, b.up)
    w = tuned.moments[-1].state["parameters"]
    end = finished(tuned).moments[-1]
    assert same(end.state, fedavg.moments[-1].state)
    for k, own in end.own.items():
        v = train(w, tuned.data[k], tuned.batches(ROUNDS + 1, k, purpose="finetune", epochs=2), 0.1)
        close(own["parameters"], v)
        x, y = tuned.data[k]["x_test"], tuned.data[k]["y_test"]
        for view, model in (("personal", v), ("global", w)):
            scores = end.record.scores[k][view]["test"]
            assert scores == pytest.approx((mean_loss(model, x, y), accuracy(model, x, y)))


@pytest.mark.certifies("apfl", "law")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@EVERY
def test_apfl_without_a_share_is_fedavg(work, kind):
    """α = 0, not adaptive: v never moves; the mixture with the model received is that model, the
    one kept is the client's last upload.
    """
    for mixture in ("kept", "received"):
        hyper = {"alpha": 0.0, "adaptive": False, "mixture": mixture}
        apfl = federated("apfl", hyper=hyper, kind=kind, **work).run(ROUNDS)
        for a, b in zip(apfl.moments, run("fedavg", kind=kind, **work).moments, strict=True):
            assert same(a.state, b.state)
            assert same(a.up, b.up)
            for k, own in a.own.items():
                close(own["parameters"], arrays(apfl.models[kind].initial))
                if mixture == "received":
                    assert a.record.scores[k]["personal"] == a.record.scores[k]["global"]
                elif k in a.up:
                    close(own["mixture"], a.up[k]["parameters"])


@pytest.mark.certifies("apfl", "law")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@EVERY
def test_apfl_with_the_whole_share_is_local(work, kind):
    """α = 1, not adaptive: v̄ = v, trained on its own loss alone."""
    apfl = run("apfl", hyper={"alpha": 1.0, "adaptive": False}, kind=kind, **work)
    for a, b in zip(apfl.moments, run("local", kind=kind, **work).moments, strict=True):
        close(
            {k: own["parameters"] for k, own in a.own.items()},
            {k: own["parameters"] for k, own in b.own.items()},
        )


@pytest.mark.certifies("apfl", "law")
@pytest.mark.parametrize("lr", [0.2, 5.0])
def test_apfls_shares_stay_within_0_and_1_and_do_not_reach_the_global_model(lr):
    apfl = federated("apfl", hyper={"lr": lr}, steps=3).run(6)
    fedavg = federated("fedavg", hyper={"lr": lr}, steps=3).run(6, evaluate=False)
    for a, b in zip(apfl.moments, fedavg.moments, strict=True):
        assert same(a.state, b.state)
        assert all(0 <= own["alpha"] <= 1 for own in a.own.values())
    assert len({own["alpha"] for own in a.own.values()}) > 1


# --- quadratics


def start_at(run, model):
    run.setup()
    run.coordinator.state = {**run.coordinator.state, "parameters": model}


def vector(w):
    return {"weight": torch.from_numpy(np.asarray(w))[None]}


@pytest.mark.certifies("fedprox", "closed form")
@pytest.mark.parametrize("steps", [1, 4, 200])
def test_fedprox_fixed_point(steps):
    """w ← Σ p_i (prox steps from w) is affine in w. With many steps they are prox points and the
    fixed point is the minimiser of the weighted mean of the Moreau envelopes; with one it is
    FedAvg's.
    """
    mu, lr = 0.8, 0.2
    prox = linear("fedprox", mu=mu, lr=lr, steps=steps)
    clients = list(quadratics(prox).values())

    def once(w):
        return sum(
            p * exact.prox_steps(A, b, w, w, mu, lr, steps)
            for p, (A, b) in zip(P, clients, strict=True)
        )

    offset = once(np.zeros(4))
    matrix = np.array([once(e) - offset for e in np.eye(4)]).T
    fixed = np.linalg.solve(np.eye(4) - matrix, offset)
    start_at(prox, vector(fixed))
    prox.run(3, evaluate=False)
    np.testing.assert_allclose(prox.moments[-1].state["parameters"]["weight"][0], fixed, rtol=1e-9)
    if steps == 1:
        np.testing.assert_allclose(fixed, exact.weighted_minimiser(clients, P), rtol=1e-9)
    if steps == 200:
        pairs = [exact.envelope_matrices(A, b, mu) for A, b in clients]
        G, r = (sum(p * pair[i] for p, pair in zip(P, pairs, strict=True)) for i in (0, 1))
        np.testing.assert_allclose(fixed, np.linalg.solve(G, r), rtol=1e-9)


@pytest.mark.certifies("fedprox", "closed form")
def test_fedprox_uploads_the_prox_point():
    run = linear("fedprox", mu=0.8, lr=0.2, steps=200).run(1)
    for k, (A, b) in quadratics(run).items():
        sent = run.moments[0].up[k]["parameters"]["weight"][0]
        np.testing.assert_allclose(sent, exact.prox_point(A, b, first(run), 0.8), rtol=1e-9)


@pytest.mark.certifies("ditto", "closed form")
@pytest.mark.parametrize("personal_steps", [3, 100])
def test_ditto_prox_point(personal_steps):
    """v takes steps towards the prox point of the RECEIVED w, from where it was the
    round before.
    """
    lam, rate = 1.7, 0.15
    run = linear(
        "ditto", lam=lam, lr=0.1, personal_lr=rate, personal_steps=personal_steps, steps=2
    ).run(3)
    v = dict.fromkeys(run.infos, first(run))
    w = first(run)
    for moment in run.moments:
        for k, (A, b) in quadratics(run).items():
            v[k] = exact.prox_steps(A, b, v[k], w, lam, rate, personal_steps)
            np.testing.assert_allclose(moment.own[k]["parameters"]["weight"][0], v[k], rtol=1e-9)
            if personal_steps == 100:
                np.testing.assert_allclose(v[k], exact.prox_point(A, b, w, lam), rtol=1e-9)
        w = moment.state["parameters"]["weight"][0]


@pytest.mark.certifies("scaffold", "closed form")
@pytest.mark.parametrize(("participation", "rounds"), [(1.0, 120), (0.5, 300)])
def test_scaffold_reaches_the_optimum_that_fedavg_misses(participation, rounds):
    """Unequal quadratics, several local steps: the minimiser of the plain mean of the f_i. FedAvg
    ends elsewhere, also where it would weight alike.
    """
    steps, lr = 5, 0.2
    group = population((16, 8, 16, 16), family="gaussian", seed=2)
    run = linear("scaffold", people=group, lr=lr, steps=steps, participation=participation).setup()
    run.runtime.mode = "trace"
    one = run.coordinator
    one.schedule = one.schedule._replace(evaluated=lambda number, last: [])
    for number in range(1, rounds + 1):
        one.round(number)
    clients = list(quadratics(run).values())
    optimum = exact.weighted_minimiser(clients, [0.25] * 4)
    reached = arrays(run.coordinator.state)["parameters"]
    np.testing.assert_allclose(reached["model"]["weight"][0], optimum, rtol=1e-8, atol=1e-9)
    drifted = exact.fedavg_fixed_point(clients, [0.25] * 4, lr, steps)
    assert np.abs(drifted - optimum).max() > 1e-3
    for k, (A, b) in quadratics(run).items():  # and c_i is the gradient of f_i there
        control = arrays(run.host.personal_state(k))["control"]["weight"][0]
        np.testing.assert_allclose(control, exact.gradient(A, b, optimum), atol=1e-7)


@pytest.mark.certifies("scaffold", "closed form")
def test_scaffolds_control_is_the_mean_gradient_of_its_path():
    """First round, c = c_i = 0: c_i⁺ = (w − v) / (S η), v known exactly."""
    run = linear("scaffold", lr=0.1, steps=5).run(1)
    for k, (A, b) in quadratics(run).items():
        moved = exact.gradient_steps(A, b, first(run), 0.1, 5) - first(run)
        np.testing.assert_allclose(
            run.moments[0].own[k]["control"]["weight"][0], -moved / (5 * 0.1), rtol=1e-9
        )


@pytest.mark.certifies("finetune", "closed form")
def test_finetune_is_gradient_descent_from_the_fixed_point():
    run = linear("finetune", lr=0.2, steps=4, epochs=6, personal_lr=0.1)
    clients = list(quadratics(run).values())
    fixed = exact.fedavg_fixed_point(clients, P, 0.2, 4)
    start_at(run, vector(fixed))
    end = run.run(1, evaluate=False).finish()
    for k, (A, b) in enumerate(clients):
        expected = exact.gradient_steps(A, b, fixed, 0.1, 6)
        np.testing.assert_allclose(end.own[k]["parameters"]["weight"][0], expected, rtol=1e-8)


@pytest.mark.certifies("apfl", "closed form")
@pytest.mark.parametrize("adaptive", [True, False])
def test_apfl_step(adaptive):
    """One whole-data step a round: w ← w − η∇f(w), v ← v − ηα∇f(v̄), α ← α − η⟨v − w, ∇f(v̄)⟩
    before them, v̄ after.
    """
    lr = 0.1
    run = linear("apfl", lr=lr, alpha=0.4, adaptive=adaptive, steps=1).run(5)
    w = first(run)
    v, alpha, bar = (
        dict.fromkeys(run.infos, w),
        dict.fromkeys(run.infos, 0.4),
        dict.fromkeys(run.infos, w),
    )
    for moment in run.moments:
        for k, (A, b) in quadratics(run).items():
            if adaptive:
                alpha[k] = np.clip(alpha[k] - lr * (v[k] - w) @ exact.gradient(A, b, bar[k]), 0, 1)
            v[k] = v[k] - lr * alpha[k] * exact.gradient(A, b, bar[k])
            bar[k] = alpha[k] * v[k] + (1 - alpha[k]) * moment.up[k]["parameters"]["weight"][0]
            np.testing.assert_allclose(moment.own[k]["parameters"]["weight"][0], v[k], rtol=1e-9)
            np.testing.assert_allclose(moment.own[k]["alpha"], alpha[k], rtol=1e-9)
        w = moment.state["parameters"]["weight"][0]
    assert (len(set(alpha.values())) == 1) == (not adaptive)


@pytest.mark.certifies("apfl", "closed form")
def test_apfl_stays_where_every_mixture_is_its_clients_optimum():
    """w at FedAvg's fixed point of one local step and αv + (1−α)w the minimiser of f_i: v does not
    move, nor does w.
    """
    run = linear("apfl", lr=0.3, alpha=0.6, mixture="received", steps=1)
    clients = list(quadratics(run).values())
    w = exact.weighted_minimiser(clients, P)
    start_at(run, vector(w))
    for k, (A, b) in enumerate(clients):
        v = (exact.minimiser(A, b) - 0.4 * w) / 0.6
        run.host.store.put(k, {"parameters": vector(v), "alpha": 0.6})
    run.run(3)
    for k, (A, b) in enumerate(clients):
        view = arrays(run.coordinator.views(k, 4))
        np.testing.assert_allclose(view["personal"]["weight"][0], exact.minimiser(A, b), rtol=1e-9)
        np.testing.assert_allclose(view["global"]["weight"][0], w, rtol=1e-9)
        np.testing.assert_allclose(
            run.moments[-1].own[k]["alpha"], 0.6, rtol=1e-9
        )  # a stationary point of α too
