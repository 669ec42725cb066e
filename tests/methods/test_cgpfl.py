"""pFedMe, CGPFL and CGPFL-Heur beside tests/reference/pfedme_cgpfl.py.

The reference starts a θ at the model that its client receives first; fedkin at the initial model,
which is what every client has before its first round. A round 0 without mini-batches, in which
everybody takes part, makes them the same.
"""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.cgpfl import cgpfl
from fedkin.methods.cgpfl_heur import cgpfl_heur, trade_off
from fedkin.methods.pfedme import pfedme
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
    told_in,
)
from tests.reference import pfedme_cgpfl as reference
from tests.reference.kmeans import lloyd
from tests.reference.model import accuracy, flatten, mean_loss

# β λ = 0.6 · 0.5: neither 0 nor 1, so that ω, θ and the received model all differ
HYPER = {"lr": 0.2, "lam": 1.5, "personal_lr": 0.15, "inner": 3}
ROUNDS = 4
START = {"persistent": {"persist": True}, "received": {"persist": False, "restart": "round"}}
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 2,
        "participation": 0.8,
        "milestones": (1, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


def people():
    return population((5, 9, 4, 11, 7), seed=5)


def check_clients(name, run, theirs):
    for moment, other in zip(run.moments, theirs, strict=True):
        agree(
            name, moment.up, {k: {"parameters": upload} for k, upload in other["uploads"].items()}
        )
        for k, theta in other["personal"].items():
            agree(name, moment.own[k], {"theta": theta})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores(name, moment, k, "test", mean_loss(theta, x, y), accuracy(theta, x, y))
            received = arrays(moment.downs_to_evaluate[k])["parameters"]
            agree_scores(
                name,
                moment,
                k,
                "test",
                mean_loss(received, x, y),
                accuracy(received, x, y),
                "global",
            )


def arguments(run, start):
    """The reference's start, data, plan, participants, lam, lr (of θ), beta (of ω), steps, with the
    empty round 0.
    """
    who = run.participants(ROUNDS)
    return (
        arrays(start),
        run.data,
        [{k: [] for k in run.infos}, *run.plan(ROUNDS)],
        [list(run.infos), *who],
        HYPER["lam"],
        [0.0, *run.rates(HYPER["personal_lr"], ROUNDS)],
        [0.0, *run.rates(HYPER["lr"], ROUNDS)],
        HYPER["inner"],
    )


@pytest.mark.certifies("pfedme", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "beta"), [("mlr", 1.0), ("dnn", 0.5)])
@pytest.mark.parametrize("start", START)
def test_pfedme(start, kind, beta, work):
    model = architecture(kind)
    run = Federated(pfedme(**HYPER, beta=beta, start=start), people(), {kind: model}, **work).run(
        ROUNDS
    )
    theirs = reference.pfedme(*arguments(run, model.initial), alpha=beta, **START[start])[1:]
    check_clients("pfedme", run, theirs)
    for moment, other in zip(run.moments, theirs, strict=True):
        agree(
            "pfedme", {n: v[0] for n, v in moment.state["models"].items()}, other["server"]["model"]
        )


@pytest.mark.certifies("cgpfl", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "alpha"), [("mlr", 1.0), ("mlr", 0.5), ("dnn", 0.5)])
@pytest.mark.parametrize(
    ("clusters", "start"), [(2, "persistent"), (3, "persistent"), (3, "received")]
)
def test_cgpfl(clusters, start, alpha, kind, work):
    model = architecture(kind)
    method = cgpfl(**HYPER, clusters=clusters, alpha=alpha, start=start)
    run = Federated(method, people(), {kind: model}, **work).run(ROUNDS)
    seeds = [run.seeds(t, uploads(m), clusters) for t, m in enumerate(run.moments, 1)]
    theirs = reference.cgpfl(
        *arguments(run, model.initial),
        clusters,
        [list(range(clusters)), *seeds],
        alpha,
        squared=True,
        **START[start],
    )[1:]
    check_clients("cgpfl", run, theirs)
    check_servers("cgpfl", run, theirs)


def uploads(moment):
    """The vectors [participants, d] that the server clustered, in client order."""
    return np.array([flatten(up["parameters"]) for _, up in sorted(moment.up.items())])


def check_servers(name, run, theirs):
    before = dict.fromkeys(run.infos, 0)
    for moment, other in zip(run.moments, theirs, strict=True):
        models, cluster = moment.state["models"], moment.state["cluster"]
        count = len(other["server"]["models"])
        agree(
            name,
            [{n: v[k] for n, v in models.items()} for k in range(count)],
            other["server"]["models"],
        )
        assert dict(enumerate(cluster.tolist())) == other["server"]["assignment"]
        assert moment.record.lens["cluster"] == told_in(moment, other["server"]["assignment"])
        stayed = [before[k] == other["server"]["assignment"][k] for k in moment.record.participants]
        assert moment.record.lens["stability"][-1] == pytest.approx(np.mean(stayed))
        before = other["server"]["assignment"]


@pytest.mark.certifies("cgpfl", "reference")
def test_clusters_change_hands_in_the_comparison():
    """It means something: clients move between clusters after the first round, and
    models differ.
    """
    run = Federated(cgpfl(**HYPER, clusters=3, alpha=0.5), people(), steps=2).run(ROUNDS)
    stability = [moment.record.lens["stability"][-1] for moment in run.moments[1:]]
    assert min(stability) < 1
    assert all(moment.record.lens["distance"][-1] > 1e-3 for moment in run.moments)


# --- CGPFL-Heur


GROUPS = {"sizes": (5, 9, 4, 11, 7, 6, 5, 8), "seed": 6, "groups": 3}


@pytest.mark.certifies("cgpfl_heur", "reference")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(
    ("mu", "alpha", "participation"),
    [(0.0, 1.0, 1.0), (17.0, 1.0, 1.0), (17.0, 0.5, 0.8), (900.0, 0.5, 0.6)],
)
def test_cgpfl_heur(kind, mu, alpha, participation):
    model = architecture(kind)
    method = cgpfl_heur(**HYPER, mu=mu, alpha=alpha)
    run = Federated(
        method, population(**GROUPS), {kind: model}, steps=3, participation=participation
    ).run(ROUNDS)
    points = [uploads(moment) for moment in run.moments]
    sizes = [run.infos[k].samples for k in run.moments[0].record.participants]
    chosen, _ = reference.choose_k(
        points[0], sizes, mu, lambda p, k: lloyd(p, run.seeds(1, p, k))[0]
    )
    assert all(moment.state["chosen"] == chosen for moment in run.moments)
    assert all(moment.record.lens["clusters"] == {-1: chosen} for moment in run.moments)
    seeds = [run.seeds(t, p, chosen) for t, p in enumerate(points, 1)]
    theirs = reference.cgpfl(
        *arguments(run, model.initial), chosen, [list(range(chosen)), *seeds], alpha, squared=True
    )[1:]
    check_clients("cgpfl_heur", run, theirs)
    check_servers("cgpfl_heur", run, theirs)


@pytest.mark.certifies("cgpfl_heur", "law")
@pytest.mark.parametrize(("mu", "chosen"), [(0.0, 1), (17.0, 3), (1e9, 4)])
def test_what_mu_chooses(mu, chosen):
    """μ = 0: clusters only cost, K = 1; a huge μ: K = ⌊N/2⌋; in between the three true groups."""
    run = Federated(cgpfl_heur(**HYPER, mu=mu), population(**GROUPS), steps=3).run(1)
    assert run.moments[0].state["chosen"] == chosen


@pytest.mark.certifies("cgpfl_heur", "closed form")
def test_trade_off_by_hand():
    # m = d: log(e) = 1, sqrt(d K / m) = sqrt(K): sqrt(4) + 2 · 0.5 = 3. m = e d: log(e²) = 2,
    # sqrt(2 K / e).
    assert trade_off(4, 10, 10, 2.0, 0.5) == pytest.approx(3.0)
    assert trade_off(2, np.e * 10, 10, 0.0, 7.0) == pytest.approx(np.sqrt(4 / np.e))
    # clamped: m = d / 100: log(e / 100) < 0 → 1: sqrt(100 K) = 10 for K = 1
    assert trade_off(1, 1, 100, 0.0, 0.0) == pytest.approx(10.0)
    for args in ((3, 57, 15, 4.0, 0.2), (2, 10, 400, 4.0, 0.2)):
        assert trade_off(*args) == pytest.approx(reference.trade_off(*args))


@pytest.mark.parametrize("method", [pfedme, cgpfl, cgpfl_heur])
def test_an_unknown_start(method):
    with pytest.raises(FedkinError, match=r"method\.start of \w+: .*'received', not 'recieved'"):
        method(lr=0.1, start="recieved")
