"""FedU beside tests/reference/fedu.py."""

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.methods import make
from fedkin.methods.fedu import fedu
from tests.laws.small import close, same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.test_newcomers import models, server
from tests.reference import fedu as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS, CLIENTS = 0.3, 4, 5
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}
LINE = [  # client 4 has no neighbours; one edge counts less
    [0.0, 1.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.25, 0.0, 0.0],
    [0.0, 0.25, 0.0, 0.5, 0.0],
    [0.0, 0.0, 0.5, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0],
]
GRAPHS = {"complete": np.full((CLIENTS, CLIENTS), 1 / (CLIENTS - 1)), "line": np.array(LINE)}


@pytest.mark.certifies("fedu", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_fedu(graph, kind, work):
    model = architecture(kind)
    given = {} if graph == "complete" else {"graph": LINE}
    run = Federated(fedu(lr=LR, pull=0.4, **given), population(), {kind: model}, **work).run(ROUNDS)
    theirs = reference.fedu(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(0.4, ROUNDS),
        GRAPHS[graph],
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        for k, w in other["own"].items():
            agree("fedu", moment.state["models"][k] or moment.state["initial"], w)
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedu", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("fedu", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_pull_it_is_local(work):
    """pull = 0: equal to the bit."""
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population(), **work).run(ROUNDS, evaluate=False)
        for name, hyper in (("fedu", {"pull": 0.0}), ("local", {}))
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        for k, own in b.own.items():
            assert same(a.state["models"][k] or a.state["initial"], own["parameters"])


@pytest.mark.certifies("fedu", "law")
def test_the_whole_way_to_the_mean_is_fedavg():
    """pull = (N − 1) / N among all, everybody there: the plain mean."""
    hypers = {"fedu": {"pull": (CLIENTS - 1) / CLIENTS}, "fedavg": {"weights": "uniform"}}
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population(), epochs=2).run(ROUNDS, evaluate=False)
        for name, hyper in hypers.items()
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        for w in a.state["models"]:
            close(w, b.state["parameters"], 1e-12)


@pytest.mark.certifies("fedu", "closed form")
def test_known_models():
    """w = 0, 10, 20, of which 1 and 2 reply, client 2 with 50: 10 − 0.3 (10 − 0 + 10 − 50) / 2 and
    50 − 0.3 (50 − 0 + 50 − 10) / 2.
    """
    replies = {
        k: Reply({"parameters": {"w": torch.full((2,), value)}}, 5.0 * k)
        for k, value in ((1, 10.0), (2, 50.0))
    }
    after = fedu(lr=0.1, pull=0.6).server_update({"models": models(3)}, replies, server())
    assert [w["w"].tolist() for w in after["models"]] == [
        [0.0] * 2,
        pytest.approx([14.5] * 2),
        pytest.approx([36.5] * 2),
    ]


def test_a_newcomer_starts_from_the_mean_and_moves_nobody():
    method = fedu(lr=0.1, pull=0.5)
    (placed,) = method.newcomer_placements({"models": models(3)}, 3, None)
    assert placed["models"][3]["w"].tolist() == [10.0, 10.0]
    reply = Reply({"parameters": {"w": torch.full((2,), 22.0)}}, 4.0)
    after = method.update_newcomer(placed, 3, reply, server())
    assert after["models"][3]["w"].tolist() == pytest.approx([19.0, 19.0])  # 22 − 0.25 · 36 / 3
    assert after["models"][:3] == placed["models"][:3]
    given = fedu(lr=0.1, pull=0.5, graph=[[0, 1], [1, 0]])
    (placed,) = given.newcomer_placements({"models": models(2)}, 2, None)
    after = given.update_newcomer(placed, 2, reply, server())
    assert after["models"][2]["w"].tolist() == [22.0, 22.0]


@pytest.mark.parametrize("count", [1, 2, 14, 27, 100])
def test_the_mean_of_the_others_is_within_reach_however_many_they_are(count):
    """A row of 13 times 1/13, or of 99 times 1/99, adds up to more than 1 in floating point."""
    w = {"w": torch.zeros(2)}
    start = FederationInit({"mlr": w}, tuple(range(count)), 0, 3, lambda k: w)
    fedu(lr=0.1, pull=1.0).check(start, count)
    if count > 1:
        with pytest.raises(FedkinError, match=r"is 1\.01, and above 1"):
            fedu(lr=0.1, pull=1.01).check(start, count)


def test_no_row_of_the_complete_graph_is_made_to_check_it(monkeypatch):
    """All are alike: a row for each client would be the square of the clients."""
    w = {"w": torch.zeros(2)}
    start = FederationInit({"mlr": w}, tuple(range(50)), 0, 3, lambda k: w)
    method, made, zeros = fedu(lr=0.1, pull=0.5), [], torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda *a, **b: made.append(a) or zeros(*a, **b))
    method.check(start, 50)
    assert made == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pull": -1.0}, r"method\.pull of fedu: input should be greater than or equal to 0"),
        ({"pull": 1.2}, "is 1.2, and above 1 the server's step overshoots"),
        ({"graph": LINE, "pull": 0.9}, "is 1.12, and above 1"),
        ({"graph": [[0, 1], [1, 0]]}, "method.graph of fedu: 5 clients need as many rows"),
        ({"graph": LINE[:2]}, "rows of as many numbers as clients"),
        ({"graph": [[0.0, 1.0], [1.0]]}, "rows of as many numbers as clients"),
        ({"graph": [[0, -1], [-1, 0]]}, "none negative"),
        ({"graph": [[0, 1], [2, 0]]}, "the same from k to l as from l to k"),
        ({"graph": "ring"}, r"method\.graph of fedu: input should be 'complete'"),
    ],
)
def test_out_of_range(wrong, said):
    with pytest.raises(FedkinError, match=said):
        Federated(make("fedu", wrong, {"lr": LR}), population())
