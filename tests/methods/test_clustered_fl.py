"""Clustered FL beside tests/reference/clustered_fl.py, which tries every bipartition."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods.clustered_fl import bipartition, clustered_fl
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


@pytest.mark.parametrize("members", [2, 3, 5, 8])
def test_single_linkage_is_the_optimal_bipartition(members):
    """The least largest similarity across, against every bipartition."""
    rng = np.random.default_rng(members)
    for _ in range(20):
        updates = rng.normal(size=(members, 4))
        one, _, cross = reference.best_bipartition(list(updates))
        halves = bipartition(torch.from_numpy(updates))
        assert [i for i, first in enumerate(halves.first) if first] == one
        assert halves.cross == pytest.approx(cross)


def test_bipartition_by_hand():
    """Directions 0°, 40°, 80°, 130° (a chain with gaps 40, 40, 50): cut at the widest gap, {0, 40,
    80} | {130}, with cos 50° across. Complete linkage would join 0 and 40, then 80 and 130: cos 40°
    across, which is more.
    """
    angles = np.deg2rad([0.0, 40.0, 80.0, 130.0])
    halves = bipartition(torch.tensor(np.stack([np.cos(angles), np.sin(angles)], 1)))
    assert halves.first == [True, True, True, False]
    assert halves.cross == pytest.approx(np.cos(np.deg2rad(50.0)))


def test_equal_updates_are_still_cut_in_two():
    halves = bipartition(torch.ones(4, 3, dtype=torch.float64))
    assert 0 < sum(halves.first) < 4
    assert halves.cross == pytest.approx(1.0)


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
