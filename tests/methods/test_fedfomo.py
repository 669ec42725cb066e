"""FedFomo beside tests/reference/fedfomo.py; and how the server chooses whom to send."""

from itertools import pairwise

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.fedfomo import fedfomo
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.pairs_matrix import matrix
from tests.reference import fedfomo as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 5
WORK = {
    "epochs": {"epochs": 1},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "epochs": 1,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


def people():
    return population((5, 9, 4, 11, 7), groups=2, seed=3)


def received(run):
    """received[t][k]: whose models client k was sent in round t."""
    empty = [np.zeros(0, np.int64)] * len(run.infos)
    states = [empty, *(moment.state["candidates"] for moment in run.moments)]
    return [{k: chosen[k].tolist() for k in run.infos} for chosen in states]


@pytest.mark.certifies("fedfomo", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(("candidates", "epsilon"), [(2, 0.3), (4, 0.3), (1, 0.0)])
def test_fedfomo(candidates, epsilon, kind, work):
    model = architecture(kind)
    run = Federated(
        fedfomo(lr=LR, candidates=candidates, epsilon=epsilon), people(), {kind: model}, **work
    ).run(ROUNDS)
    who, sent = run.participants(ROUNDS), received(run)
    theirs = reference.fedfomo(
        arrays(model.initial), run.data, run.plan(ROUNDS), who, sent[:ROUNDS], run.rates(LR, ROUNDS)
    )
    before = dict.fromkeys(run.infos, arrays(model.initial))
    for t, (moment, other) in enumerate(zip(run.moments, theirs, strict=True)):
        for k in who[t]:
            told = [before[j] for j in sent[t][k]]
            agree("fedfomo", moment.down[k]["parameters"]["models"], told)
            expected = {"parameters": other["personal"][k], "coefficients": other["raw"][k]}
            agree("fedfomo", moment.up[k], expected)
        for k, w in other["personal"].items():
            agree("fedfomo", moment.own[k], {"parameters": w, "before": other["before"][k]})
            agree("fedfomo", moment.state["models"][k], w)
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedfomo", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
            told = moment.record.server_metrics["weights"].get(k)
            if told is not None:  # of participants
                row = [told.get(j, 0.0) for j in range(5)]
                agree("fedfomo", row, other["weights"][k])
        agree("fedfomo", matrix(moment.state["affinity"], 5), other["affinity"])
        before = other["personal"]


def test_the_comparison_means_something():
    """Some models are taken, some refused, own ones are among both; weights are on the simplex or
    all 0.
    """
    run = Federated(fedfomo(lr=LR, candidates=3), people(), steps=3).run(ROUNDS)
    raw = np.concatenate(
        [up["coefficients"] for moment in run.moments for up in moment.up.values()]
    )
    assert (raw > 0).any()
    assert (raw < 0).any()
    sums = np.array([matrix(moment.state["weights"], 5).sum(1).numpy() for moment in run.moments])
    assert np.all(np.isclose(sums, 0) | np.isclose(sums, 1))
    assert np.isclose(sums[1:], 1).any()
    weights = np.array([matrix(moment.state["weights"], 5).numpy() for moment in run.moments])
    assert (weights >= 0).all()
    own = weights[1:, range(5), range(5)]
    assert (own == 0).any()
    assert ((own > 0) & (own < 1)).any()
    assert (own == 1).any()


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_only_others_that_have_trained_are_candidates(epsilon):
    run = Federated(
        fedfomo(lr=LR, candidates=3, epsilon=epsilon), people(), steps=2, participation=0.4
    ).run(5)
    trained: set[int] = set()
    sizes = []
    for moment, sent in zip(run.moments, received(run)[1:], strict=True):
        trained |= set(moment.record.participants)
        for k, chosen in sent.items():
            assert len(set(chosen)) == len(chosen) == min(3, len(trained - {k}))
            assert set(chosen) <= trained - {k}
            sizes.append(len(chosen))
    assert {1, 3} <= set(sizes)  # fewer at first, all places later


def test_without_exploration_the_highest_affinities_are_sent():
    run = Federated(fedfomo(lr=LR, candidates=2, epsilon=0.0), people(), steps=2).run(5)
    for moment, sent in zip(run.moments, received(run)[1:], strict=True):
        for k, chosen in sent.items():
            row = matrix(moment.state["affinity"], 5)[k].numpy()
            others = [j for j in run.infos if j != k and j not in chosen]
            assert min(row[chosen]) >= max(row[others])


def test_affinities_add_up():
    run = Federated(fedfomo(lr=LR, candidates=2), people(), steps=2).run(4)
    for before, after in pairwise(run.moments):
        change = matrix(after.state["affinity"], 5) - matrix(before.state["affinity"], 5)
        for k in run.infos:
            expected = np.zeros(5)
            expected[before.state["candidates"][k]] = after.up[k]["coefficients"][:-1]
            np.testing.assert_allclose(change[k], expected, atol=1e-12)


# --- pick


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"epsilon": -0.1}, {"epsilon": 1.1}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedfomo: input should be"):
        fedfomo(**{"lr": 0.1, **wrong})


def test_more_candidates_than_others():
    with pytest.raises(FedkinError, match="5 candidates, but a client has 4 others"):
        Federated(fedfomo(lr=LR, candidates=5), people())
