"""Partial personalization at its edges, and its exact answers on quadratics."""

import numpy as np
import pytest
import torch

from fedkin.core.family import GAUSSIAN
from fedkin.core.model import from_module
from fedkin.methods import make
from tests.laws.small import LR, close, federated, same
from tests.methods.federation import Federated, arrays, population
from tests.reference import quadratics as exact

ROUNDS = 4
WORK = {
    "all": {"epochs": 2},
    "some": {"epochs": 1, "participation": 0.6},
    "decay": {"epochs": 1, "milestones": (1,)},
}
SIMULTANEOUS = {
    "fedper": "personal",
    "fedsim": "personal",
    "partial_fl": "personal",
    "lg_fedavg": "shared",
}


def whole(name, personal):
    """Hyper-parameters that make all layers personal, or none."""
    key = SIMULTANEOUS[name]
    one_rate = {"personal_lr": None} if name in ("fedsim", "partial_fl") else {}
    at_once = {"schedule": "simultaneous", "personal_steps": None} if name == "partial_fl" else {}
    return {**one_rate, **at_once, key: "all" if personal == (key == "personal") else ()}


@pytest.mark.certifies("fedper", "fedsim", "partial_fl", "lg_fedavg", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("name", SIMULTANEOUS)
def test_nothing_personal_is_fedavg(name, kind, work):
    partial = federated(name, hyper=whole(name, False), kind=kind, **work).run(ROUNDS)
    fedavg = federated("fedavg", kind=kind, **work).run(ROUNDS)
    for a, b in zip(partial.moments, fedavg.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.up, b.up)
        assert same(a.own, b.own)
        for k in b.record.scores:
            assert a.record.scores[k]["personal"] == b.record.scores[k]["personal"]


@pytest.mark.certifies("fedper", "fedsim", "partial_fl", "lg_fedavg", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize("name", SIMULTANEOUS)
def test_everything_personal_is_local(name, kind, work):
    partial = federated(name, hyper=whole(name, True), kind=kind, **work).run(ROUNDS)
    local = federated("local", kind=kind, **work).run(ROUNDS)
    for a, b in zip(partial.moments, local.moments, strict=True):
        assert same(a.own, b.own)
        assert all(up == {} for up in a.up.values())
        assert all(down == {} for down in a.down.values())
        assert [item.bytes for item in a.record.sent] == [item.bytes for item in b.record.sent]
        assert {k: v["personal"] for k, v in a.record.scores.items()} == {
            k: v["personal"] for k, v in b.record.scores.items()
        }


@pytest.mark.certifies("partial_fl", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_fedalt_with_nothing_personal_is_fedavg(work):
    alt = federated("partial_fl", hyper={"personal": ()}, kind="dnn", **work).run(
        ROUNDS, evaluate=False
    )
    fedavg = federated("fedavg", kind="dnn", **work).run(ROUNDS, evaluate=False)
    for a, b in zip(alt.moments, fedavg.moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.certifies("partial_fl", "law")
def test_fedalt_with_everything_personal_is_local():
    """Where a batch holds all samples: the personal half draws its own order."""
    hyper = {"personal": "all", "personal_lr": LR, "personal_steps": 2}
    work = {"batch_size": 16, "steps": 2, "participation": 0.6}
    alt = federated("partial_fl", hyper=hyper, kind="dnn", **work).run(ROUNDS, evaluate=False)
    local = federated("local", kind="dnn", **work).run(ROUNDS, evaluate=False)
    for a, b in zip(alt.moments, local.moments, strict=True):
        close(a.own, b.own, 1e-12)


@pytest.mark.certifies("lg_fedavg", "fedper", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_lg_fedavg_is_fedper_the_other_way_round(work):
    lg = federated("lg_fedavg", hyper={"shared": "hidden."}, kind="dnn", **work).run(ROUNDS)
    per = federated("fedper", hyper={"personal": "out."}, kind="dnn", **work).run(ROUNDS)
    for a, b in zip(lg.moments, per.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.own, b.own)


# --- closed forms: f_i(w) = ½ ‖A_i w − b_i‖² with w = (v, u), two entries each
# ---------------------------------------

SIZES = (4, 8, 16, 8)
MINE = [0, 1]
OURS = [2, 3]


class Halves(torch.nn.Module):
    """One linear predictor in two named parts."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = torch.nn.Linear(2, 1, bias=False)
        self.ours = torch.nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.mine(x[:, :2]) + self.ours(x[:, 2:])


def quadratic(name, hyper, steps):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = from_module("halves", Halves().double(), GAUSSIAN)
    people = population(SIZES, family="gaussian", seed=2)
    method = make(name, hyper, {"lr": 0.1})
    run = Federated(method, people, {"halves": model}, batch_size=16, steps=steps).run(1)
    first = arrays(model.initial)
    start = np.concatenate([first["mine.weight"][0], first["ours.weight"][0]])
    clients = {
        k: (c["x"] / np.sqrt(len(c["y"])), c["y"] / np.sqrt(len(c["y"])))
        for k, c in run.data.items()
    }
    return run, start, clients


def check(run, found):
    total = sum(SIZES)
    mean = sum(SIZES[k] / total * w[OURS] for k, w in found.items())
    for k, w in found.items():
        np.testing.assert_allclose(
            run.moments[0].own[k]["parameters"]["mine.weight"][0], w[MINE], rtol=1e-9
        )
        np.testing.assert_allclose(
            run.moments[0].up[k]["parameters"]["ours.weight"][0], w[OURS], rtol=1e-9
        )
    np.testing.assert_allclose(
        run.moments[0].state["parameters"]["ours.weight"][0], mean, rtol=1e-9
    )


@pytest.mark.certifies("partial_fl", "closed form")
@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 2), (200, 4)])
def test_fedalt_is_block_descent(before, after):
    """The steps of v are those of ½ ‖A_v v − (b − A_u u)‖², the steps of u those of ½ ‖A_u u − (b −
    A_v v⁺)‖².
    """
    run, start, clients = quadratic(
        "partial_fl", {"personal": "mine.", "personal_lr": 0.2, "personal_steps": before}, after
    )
    found = {}
    for k, (A, b) in clients.items():
        v = exact.gradient_steps(A[:, MINE], b - A[:, OURS] @ start[OURS], start[MINE], 0.2, before)
        u = exact.gradient_steps(A[:, OURS], b - A[:, MINE] @ v, start[OURS], 0.1, after)
        found[k] = np.concatenate([v, u])
    check(run, found)


@pytest.mark.certifies("fedsim", "closed form")
@pytest.mark.parametrize("steps", [1, 5])
def test_fedsim_is_gradient_descent_with_two_rates(steps):
    """w ← w − D Aᵀ(Aw − b), D = diag(0.2, 0.2, 0.1, 0.1): the error of A w = b shrinks by I − D AᵀA
    a step.
    """
    run, start, clients = quadratic("fedsim", {"personal": "mine.", "personal_lr": 0.2}, steps)
    D = np.diag([0.2, 0.2, 0.1, 0.1])
    found = {}
    for k, (A, b) in clients.items():
        w_star = np.linalg.lstsq(A, b, rcond=None)[0]
        found[k] = w_star + np.linalg.matrix_power(np.eye(4) - D @ A.T @ A, steps) @ (
            start - w_star
        )
    check(run, found)


@pytest.mark.certifies("fedper", "lg_fedavg", "closed form")
@pytest.mark.parametrize(
    ("name", "hyper"), [("fedper", {"personal": "mine."}), ("lg_fedavg", {"shared": "ours."})]
)
def test_both_parts_take_the_same_steps(name, hyper):
    run, start, clients = quadratic(name, hyper, 4)
    check(run, {k: exact.gradient_steps(A, b, start, 0.1, 4) for k, (A, b) in clients.items()})
