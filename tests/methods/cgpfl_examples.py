"""What the tests of cgpfl and of its parts have in common."""

import numpy as np
import pytest

from tests.methods.federation import (
    agree,
    agree_scores,
    arrays,
    population,
    told_in,
)
from tests.reference.model import accuracy, flatten, mean_loss

# β λ = 0.6 · 0.5: neither 0 nor 1, so that ω, θ and the received model all differ
HYPER = {"lr": 0.2, "lam": 1.5, "personal_lr": 0.15, "inner": 3}


ROUNDS = 4


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


def uploads(moment):
    """The vectors [participants, d] that the server clustered, in client order."""
    return np.array([flatten(up["parameters"]) for _, up in sorted(moment.up.items())])


def check_servers(name, run, theirs):
    before = dict.fromkeys(run.infos, -1)
    for moment, other in zip(run.moments, theirs, strict=True):
        models, cluster = moment.state["models"], moment.state["cluster"]
        count = len(other["server"]["models"])
        agree(
            name,
            [{n: v[k] for n, v in models.items()} for k in range(count)],
            other["server"]["models"],
        )
        assert dict(enumerate(cluster.tolist())) == other["server"]["assignment"]
        assert moment.record.server_metrics["cluster"] == told_in(
            moment, other["server"]["assignment"]
        )
        stayed = [
            before[k] == other["server"]["assignment"][k]
            for k in moment.record.participants
            if before[k] >= 0
        ]
        share = np.mean(stayed) if stayed else 1.0
        assert moment.record.server_metrics["stability"][-1] == pytest.approx(share)
        before = other["server"]["assignment"]
