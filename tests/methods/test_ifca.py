"""IFCA and HypCluster beside tests/reference/ifca.py."""

import math
from types import SimpleNamespace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.tree import map_tree
from fedkin.engine.codec import encode
from fedkin.methods.hypcluster import hypcluster
from fedkin.methods.ifca import choose, ifca
from tests.methods.federation import (
    Federated,
    agree,
    arrays,
    told_in,
)
from tests.methods.ifca_examples import (
    CLUSTERS,
    LR,
    ROUNDS,
    WORK,
    check_scores,
    draws,
    federated,
    people,
)
from tests.reference import ifca as reference

SHARED = {"mlr": ["weight"], "dnn": ["hidden.weight", "hidden.bias"]}


@pytest.mark.certifies("ifca", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("average", ["models", "gradients"])
@pytest.mark.parametrize("sharing", [False, True])
def test_ifca(sharing, average, kind, work):
    models, shared = draws(kind), SHARED[kind] if sharing else []
    prefix = {"mlr": "weight", "dnn": ["hidden."]}[kind] if sharing else ()
    method = ifca(lr=LR, clusters=CLUSTERS, average=average, shared=prefix)
    run = federated(method, kind, models, work)
    plan = run.plan(ROUNDS, steps=1) if average == "gradients" else run.plan(ROUNDS)
    who, rates = run.participants(ROUNDS), run.rates(LR, ROUNDS)
    start = [arrays(model.initial) for model in models]
    theirs = reference.ifca(start, run.data, plan, who, rates, average, shared)
    known = {}
    for moment, other in zip(run.moments, theirs, strict=True):
        stacked = moment.state["parameters"]
        for j, model in enumerate(other["server"]["models"]):
            agree("ifca", {n: v if n in shared else v[j] for n, v in stacked.items()}, model)
        for k, upload in other["uploads"].items():
            agree(
                "ifca",
                moment.up[k],
                {"parameters": upload, "control": {"cluster": other["chosen"][k]}},
            )
        known.update(other["chosen"])
        assert moment.record.server_metrics["cluster"] == told_in(moment, known)
        assert moment.state["cluster"].tolist() == [known.get(k, -1) for k in run.infos]
        assert all(own == {} for own in moment.own.values())
        check_scores("ifca", run, moment, other["personal"])


def test_choices_differ_and_change_in_the_comparison():
    """It means something: several models are chosen in a round, and somebody changes."""
    run = federated(ifca(lr=LR, clusters=CLUSTERS), "mlr", draws("mlr"), {"epochs": 1})
    told = [tuple(moment.state["cluster"].tolist()) for moment in run.moments]
    assert len(set(told[0])) > 1
    assert len(set(told)) > 1


@pytest.mark.certifies("ifca", "closed form")
@pytest.mark.parametrize(
    ("losses", "cluster"),
    [((0.7, 0.5, 0.5), 1), ((math.nan, 0.5, 0.7), 1), ((math.inf, math.nan, math.inf), 0)],
)
def test_a_model_that_diverged_is_not_chosen(losses, cluster):
    """A model of NaN loss is chosen only where all have it, also where it comes first."""
    data = SimpleNamespace(score=lambda w, split: (losses[w["number"]], 0.0))
    candidates = [{"number": j} for j in range(len(losses))]
    found = choose(candidates, data)
    assert found.cluster == cluster
    assert found.parameters is candidates[cluster]
    assert found.loss == losses[cluster]


@pytest.mark.parametrize("cluster", [CLUSTERS, 99, -1])
@pytest.mark.parametrize(
    "method",
    [
        ifca(lr=LR, clusters=CLUSTERS, shared="bias"),
        hypcluster(lr=LR, clusters=CLUSTERS, starts=1),
        hypcluster(lr=LR, clusters=CLUSTERS, starts=2),
    ],
    ids=["ifca", "one set", "two sets"],
)
def test_a_client_that_chose_a_cluster_that_is_not_there_is_left_out(method, cluster):
    """The server's state is as without it, and the record says why."""

    def lying(received, own, data):
        own, message = method.client_update(received, own, data)
        if data.info.client == 2:
            wrong = torch.tensor(cluster)
            message["control"] = map_tree(
                lambda leaf: leaf if leaf.is_floating_point() else wrong, message["control"]
            )
        return own, message

    def after(who):
        changed = method._replace(client_update=lying)
        run = Federated(changed, people(), draws=draws("mlr", 2 * CLUSTERS), epochs=1).setup()
        coordinator = run.coordinator
        coordinator.schedule = coordinator.schedule._replace(participants=lambda number: who)
        return coordinator.round(1), coordinator.state

    record, state = after([0, 1, 2, 3, 4])
    assert list(record.missing) == [2]
    assert f"it chose cluster {cluster} of 0 to {CLUSTERS - 1}" in record.missing[2]
    assert 2 not in record.server_metrics.get("cluster", {})
    assert encode(state) == encode(after([0, 1, 3, 4])[1])


@pytest.mark.parametrize("wrong", [{"clusters": 0}, {"average": "weights"}], ids=str)
def test_wrong_ifca(wrong):
    with pytest.raises(FedkinError):
        ifca(lr=0.1, **wrong)


def test_a_shared_layer_that_is_not_there():
    with pytest.raises(FedkinError, match=r"wieght.*did you mean 'weight'"):
        Federated(ifca(lr=0.1, shared="wieght"), people())
