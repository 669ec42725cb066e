"""What the tests of ifca and of its parts have in common."""

from tests.methods.federation import (
    Federated,
    agree_scores,
    architecture,
    population,
)
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS, CLUSTERS = 0.3, 5, 3


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


def people():
    return population((5, 9, 4, 11, 7), seed=5, groups=3)


def draws(kind, count=CLUSTERS):
    return [architecture(kind, seed) for seed in range(1, count + 1)]


def federated(method, kind, models, work):
    return Federated(method, people(), {kind: models[0]}, draws=models, **work).run(ROUNDS)


def check_scores(name, run, moment, personal):
    for k, w in personal.items():
        x, y = run.data[k]["x_test"], run.data[k]["y_test"]
        agree_scores(name, moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        assert set(moment.record.scores[k]) == {"personal"}
