"""FedEM beside tests/reference/fedem.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.fedem import fedem
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedem as reference

pytestmark = pytest.mark.certifies("fedem", "reference")

LR, ROUNDS, FITS = 0.3, 5, 4
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 3,
        "participation": 0.6,
        "milestones": (1, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("components", [2, 3])
def test_fedem(components, kind, work):
    draws = [architecture(kind, seed) for seed in range(1, components + 1)]
    people = population((5, 9, 4, 11, 7), seed=3, groups=2)
    method = fedem(lr=LR, components=components, fits=FITS)
    run = Federated(method, people, {kind: draws[0]}, draws=draws, **work).run(ROUNDS)
    start = [arrays(model.initial) for model in draws]
    theirs = reference.fedem(
        start, run.data, run.plan(ROUNDS), run.participants(ROUNDS), run.rates(LR, ROUNDS)
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedem", apart(moment.state["parameters"], components), other["server"]["models"])
        assert set(moment.up) == set(other["uploads"])
        for k, sent in other["uploads"].items():
            assert set(moment.up[k]) == {"parameters"}
            agree("fedem", apart(moment.up[k]["parameters"], components), sent)
        for k, pi in other["personal"].items():
            agree("fedem", moment.own[k], {"membership": pi})
            agree("fedem", moment.record.notes[k], {"membership": pi})
            check_scores(run, moment, k, other["server"]["models"], pi)
    finished, models = run.finish(), theirs[-1]["server"]["models"]
    for k, pi in theirs[-1]["personal"].items():
        fitted = reference.fit(models, pi, run.data[k], FITS)
        agree("fedem", finished.own[k], {"membership": fitted})
        check_scores(run, finished, k, models, fitted)


def apart(stacked, components):
    return [{n: v[m] for n, v in stacked.items()} for m in range(components)]


def check_scores(run, moment, k, models, pi):
    x, y = run.data[k]["x_test"], run.data[k]["y_test"]
    p = reference.mixture(models, pi, x)
    loss = -float(np.mean(np.log(p[np.arange(len(y)), y])))
    agree_scores("fedem", moment, k, "test", loss, float(np.mean(p.argmax(1) == y)))


@pytest.mark.parametrize("wrong", [{"components": 0}, {"fits": 0}], ids=str)
def test_wrong(wrong):
    with pytest.raises(FedkinError):
        fedem(lr=0.1, **wrong)
