"""Clustered FL beside tests/reference/clustered_fl.py, which tries every bipartition."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.clustered_fl import clustered_fl
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import clustered_fl as reference
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("clustered_fl", "reference")

LR, ROUNDS = 0.3, 6
WORK = {
    "epochs": {"epochs": 1},
    "steps, decay": {"steps": 3, "milestones": (2, 4), "decay": 0.7, "compile": "trace"},
}
CASES = {  # hyper-parameters, and how many clusters there are after each of six rounds
    "loose": {"eps1": 0.9, "eps2": 0.1, "gamma": 0.1},
    "strict gap": {"eps1": 0.9, "eps2": 0.1, "gamma": 0.8},
    "strict norms": {"eps1": 0.6, "eps2": 0.45, "gamma": 0.1},
    "means, uniform": {
        "eps1": 0.9,
        "eps2": 0.1,
        "gamma": 0.1,
        "halves": "means",
        "weights": "uniform",
    },
    "absolute": {"eps1": 0.5, "eps2": 0.2, "gamma": 0.3, "unit": "absolute"},
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("case", CASES)
def test_clustered_fl(case, kind, work):
    hyper, model = CASES[case], architecture(kind)
    people = population((5, 9, 4, 11, 7, 6), seed=3, groups=3)
    run = Federated(clustered_fl(lr=LR, **hyper), people, {kind: model}, **work).run(ROUNDS)
    rates = run.rates(LR, ROUNDS)
    theirs = reference.clustered_fl(
        arrays(model.initial), run.data, run.plan(ROUNDS), rates, **hyper
    )
    before = [arrays(model.initial)], dict.fromkeys(run.infos, 0)
    for moment, other in zip(run.moments, theirs, strict=True):
        models, cluster = other["server"]["models"], other["cluster"]
        stacked = moment.state["parameters"]
        agree(
            "clustered_fl",
            [{n: v[c] for n, v in stacked.items()} for c in range(len(models))],
            models,
        )
        assert len(next(iter(stacked.values()))) == len(models)
        assert dict(enumerate(moment.state["cluster"].tolist())) == cluster
        assert moment.record.server_metrics["cluster"] == cluster
        assert moment.record.server_metrics["clusters"] == {-1: len(models)}
        agree("clustered_fl", moment.record.server_metrics["update"], other["norms"])
        agree(
            "clustered_fl",
            moment.record.server_metrics["mean_update"],
            {k: other["means"][before[1][k]] for k in cluster},
        )
        agree(
            "clustered_fl", moment.up, {k: {"parameters": w} for k, w in other["uploads"].items()}
        )
        agree(
            "clustered_fl",
            moment.down,
            {k: {"parameters": before[0][c]} for k, c in before[1].items()},
        )
        for k, c in cluster.items():
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores(
                "clustered_fl",
                moment,
                k,
                "test",
                mean_loss(models[c], x, y),
                accuracy(models[c], x, y),
            )
        before = models, cluster


def test_the_comparison_has_splits_and_refusals():
    """Loose conditions split several times, also a child; each of the three conditions alone
    prevents a split.
    """
    people = population((5, 9, 4, 11, 7, 6), seed=3, groups=3)

    def counts(**hyper):
        run = Federated(
            clustered_fl(lr=LR, **hyper), people, {"mlr": architecture()}, epochs=1
        ).run(ROUNDS)
        return [moment.record.server_metrics["clusters"][-1] for moment in run.moments]

    loose = counts(**CASES["loose"])
    assert loose[0] >= 1
    assert loose[-1] >= 4
    assert counts(**{**CASES["loose"], "eps1": 1e-9}) == [1] * ROUNDS
    assert counts(**{**CASES["loose"], "eps2": 1e9}) == [1] * ROUNDS
    assert counts(**{**CASES["loose"], "gamma": 1.0}) == [1] * ROUNDS
    for case in CASES.values():
        assert counts(**case) != [1] * ROUNDS or case["gamma"] > 0.5, case


@pytest.mark.parametrize(
    "wrong",
    [
        {"eps1": 0.0},
        {"eps2": -1.0},
        {"gamma": 0.0},
        {"gamma": 1.1},
        {"unit": "last"},
        {"halves": "x"},
    ],
    ids=str,
)
def test_wrong(wrong):
    with pytest.raises(FedkinError):
        clustered_fl(lr=0.1, **wrong)
