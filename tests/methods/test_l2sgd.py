"""L2SGD beside tests/reference/l2sgd.py, which tosses the paper's coins in the paper's letters."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.core.rng import Key
from fedkin.methods.l2sgd import l2sgd
from tests.methods.federation import (
    SEED,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import l2sgd as reference
from tests.reference.l2sgd import HEADS, TAILS
from tests.reference.model import accuracy, mean_loss

LR, LAM, ROUNDS = 0.2, 0.9, 5
WORK = {
    "plain": {"steps": 7},  # [train] steps are not used
    "decay": {"epochs": 1, "milestones": (2, 3), "decay": 0.5, "compile": "trace"},
}


def drawn(run, rounds):
    """(pulls, steps) of every round, as the clients were told."""
    found = []
    for moment in run.moments[:rounds]:
        told = {tuple(sorted(down["control"].items())) for down in moment.down.values()}
        assert len(told) == 1
        control = dict(told.pop())
        found.append((control["pulls"], control["steps"]))
    return found


@pytest.mark.certifies("l2sgd", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(
    ("p", "start"), [(0.3, "persistent"), (0.6, "persistent"), (0.3, "received")]
)
def test_l2sgd(p, start, kind, work):
    model = architecture(kind)
    method = l2sgd(lr=LR, lam=LAM, p=p, start=start)
    run = Federated(method, population(), {kind: model}, **work).run(ROUNDS)
    counts = drawn(run, ROUNDS)
    assert len(set(counts)) > 1
    coins = [[HEADS] * pulls + [TAILS] * steps for pulls, steps in counts]
    plan = [
        {k: run.batches(t, k, steps=steps) for k in run.infos}
        for t, (_, steps) in enumerate(counts, 1)
    ]
    eta = [
        rate * len(run.infos) * (1 - p) for rate in run.rates(LR, ROUNDS)
    ]  # a local step of the paper is η/(M(1−p))
    theirs = reference.l2sgd(
        arrays(model.initial),
        run.data,
        coins,
        plan,
        eta,
        LAM,
        p,
        received=start == "received",
    )
    before = arrays(model.initial)
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("l2sgd", moment.state["parameters"], other["server"]["model"])
        agree(
            "l2sgd",
            {k: down["parameters"] for k, down in moment.down.items()},
            dict.fromkeys(run.infos, before),
        )
        agree("l2sgd", moment.up, {k: {"parameters": w} for k, w in other["personal"].items()})
        for k, w in other["personal"].items():
            agree("l2sgd", moment.own[k], {"parameters": w})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("l2sgd", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
            mean = other["server"]["model"]
            agree_scores(
                "l2sgd", moment, k, "test", mean_loss(mean, x, y), accuracy(mean, x, y), "global"
            )
        before = other["server"]["model"]


@pytest.mark.parametrize("p", [0.1, 0.6])
def test_the_runs_of_a_coin(p):
    """k ~ Geometric(p) and j ~ Geometric(1 − p), at least 1, independent: means 1/p and
    1/(1 − p).
    """
    method = l2sgd(lr=LR, lam=0.1, p=p)
    parameters = {"m": architecture().initial}
    states = [
        method.server(
            FederationInit(parameters, (0,), 0, 3, lambda k: parameters["m"], {}, Key(seed))
        )
        for seed in range(3000)
    ]
    steps, pulls = (np.array([state[name] for state in states]) for name in ("steps", "pulls"))
    assert steps.min() == pulls.min() == 1
    for drawn_, chance in ((steps, p), (pulls, 1 - p)):
        error = np.sqrt(1 - chance) / chance / np.sqrt(len(drawn_))
        assert abs(drawn_.mean() - 1 / chance) < 4 * error
        assert abs((drawn_ == 1).mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / len(drawn_))
    assert abs(np.corrcoef(steps, pulls)[0, 1]) < 0.08


def test_every_round_is_drawn_anew_from_its_own_key():
    run = Federated(l2sgd(lr=LR, lam=LAM, p=0.3), population()).run(8, evaluate=False)
    counts = drawn(run, 8)
    assert len(set(counts)) >= 4
    for t, (pulls, steps) in enumerate(counts):
        rng = Key(SEED, *([t] if t else [])).numpy("coins")
        assert (pulls, steps) == (rng.geometric(0.7), rng.geometric(0.3))
        if t:
            assert run.moments[t - 1].record.server_metrics == {
                "next_pulls": {-1: pulls},
                "next_steps": {-1: steps},
            }


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"p": 0.0}, {"p": 1.0}, {"lam": 50.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match="l2sgd"):
        l2sgd(**{"lr": 0.1, **wrong})


def test_a_pull_overshoots_only_where_models_persist():
    assert l2sgd(lr=0.1, lam=50.0, start="received").name == "l2sgd"
