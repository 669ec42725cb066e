"""What is sent: the kinds and the exact number of scalars of every message, and that nothing
personal is among them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest

from fedkin.core.kinds import KINDS
from fedkin.core.tree import named_leaves
from tests.laws.small import NAMES, PUBLIC, SIZES, federated, finished
from tests.methods.federation import CLASSES, HIDDEN, WIDTH

M = len(SIZES)
P = PUBLIC * CLASSES  # one prediction matrix |P| × C
W = WIDTH * CLASSES + CLASSES  # |w| of mlr
D = WIDTH * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES  # |w| of dnn
POLICY = 2 * HIDDEN * (HIDDEN + 3)  # a layer to 2K numbers, its bias, and a normalization
B = WIDTH * HIDDEN + HIDDEN  # |w| of what comes before the head of dnn
VALVE = 2 * HIDDEN * (HIDDEN + 3) + CLASSES * HIDDEN  # two layers, normalized, and embeddings
PROTOTYPES = {"centroids": CLASSES * HIDDEN, "coefficients": CLASSES}


class Ledger(NamedTuple):
    """Scalars by kind of one message, and how many different messages go down in a round (one copy
    of each is paid).
    """

    down: dict[str, int]
    up: dict[str, int]
    copies: int = 1
    setup: Mapping[str, int] = MappingProxyType({})
    hyper: Mapping[str, object] = MappingProxyType({})
    first: Mapping[str, int] | None = None  # down in the first round, where it differs


K = 3
MEMBERSHIP = {"coefficients": 2 * K, "control": 2}  # c_i and λ(LC)_i; the block's number and p_i
EXPECTED = {
    "fedper": Ledger({"parameters": W - CLASSES}, {"parameters": W - CLASSES}),
    "fedper, none personal": Ledger({"parameters": W}, {"parameters": W}, hyper={"personal": ()}),
    "fedper, all personal": Ledger({}, {}, hyper={"personal": "all"}),
    "lg_fedavg": Ledger({"parameters": CLASSES}, {"parameters": CLASSES}),
    "partial_fl": Ledger({"parameters": CLASSES}, {"parameters": CLASSES}),
    "fedsim": Ledger({"parameters": CLASSES}, {"parameters": CLASSES}),
    "ifca": Ledger({"parameters": K * W}, {"parameters": W, "control": 1}),
    "ifca, bias shared": Ledger(
        {"parameters": K * (W - CLASSES) + CLASSES},
        {"parameters": W, "control": 1},
        hyper={"shared": ["bias"]},
    ),
    "ifca, gradients": Ledger(
        {"parameters": K * W}, {"parameters": W, "control": 1}, hyper={"average": "gradients"}
    ),
    "hypcluster, trial": Ledger(  # two sets of two: of each a model up, its number and its loss
        {"parameters": 4 * W}, {"parameters": 2 * W, "control": 4}, hyper={"trial": 9}
    ),
    "hypcluster, one start": Ledger(
        {"parameters": 2 * W}, {"parameters": W, "control": 1}, hyper={"starts": 1}
    ),
    "fedem": Ledger({"parameters": K * W}, {"parameters": K * W}),
    "clustered_fl": Ledger(
        {"parameters": W}, {"parameters": W}, hyper={"eps2": 1e9}
    ),  # never split: one copy
    "feddf": Ledger({"parameters": W}, {"parameters": W}),
    "perada": Ledger({"parameters": W}, {"parameters": W}),
    "fedkd": Ledger(  # of each matrix one row: u_1 and v_1
        {"parameters": D},
        {"parameters": (HIDDEN + WIDTH) + HIDDEN + (CLASSES + HIDDEN) + CLASSES},
        hyper={"energy_start": 0.0, "energy_end": 0.0},
    ),
    "ds_fl": Ledger({"predictions": P}, {"predictions": P}, first={}),
    "fedmd": Ledger(  # scores of the last subset; two subsets of 5 rows by their numbers
        {"predictions": 5 * CLASSES, "control": 10},
        {"predictions": 5 * CLASSES},
        first={"control": 5},
    ),
    "kt_pfl": Ledger({"predictions": P}, {"predictions": P}, copies=M, first={}),
    "local": Ledger({}, {}),
    "centralized": Ledger({"parameters": W}, {"parameters": W}),
    "fedavg": Ledger({"parameters": W}, {"parameters": W}),
    "persfl": Ledger({"parameters": W}, {"parameters": W}),
    "per_fedavg": Ledger({"parameters": W}, {"parameters": W}),
    "l2sgd": Ledger({"parameters": W, "control": 2}, {"parameters": W}),
    "fedprox": Ledger({"parameters": W}, {"parameters": W}),
    "scaffold": Ledger({"parameters": 2 * W}, {"parameters": 2 * W}),
    "ditto": Ledger({"parameters": W}, {"parameters": W}),
    "fedrep": Ledger({"parameters": W - CLASSES}, {"parameters": W - CLASSES}),
    "fedbabu": Ledger({"parameters": W - CLASSES}, {"parameters": W - CLASSES}),
    "fedbn": Ledger({"parameters": W - CLASSES}, {"parameters": W - CLASSES}),
    "fedala": Ledger({"parameters": W}, {"parameters": W}),
    "fedamp": Ledger({"parameters": W}, {"parameters": W}, copies=M),
    "fedproto": Ledger(PROTOTYPES, PROTOTYPES),
    "fedtgp": Ledger(PROTOTYPES, PROTOTYPES),
    "fedas": Ledger(
        {"parameters": WIDTH * HIDDEN + HIDDEN},
        {"parameters": WIDTH * HIDDEN + HIDDEN, "coefficients": 1},
    ),
    "fedrod": Ledger({"parameters": D}, {"parameters": D}),
    "knn_per": Ledger({"parameters": D}, {"parameters": D}),
    "moon": Ledger({"parameters": D}, {"parameters": D}),
    "fedpac": Ledger(
        {"parameters": D, **PROTOTYPES},
        {"parameters": D, "centroids": 2 * CLASSES * HIDDEN, "coefficients": CLASSES + 1},
        copies=M,
        first={"parameters": D, **PROTOTYPES},  # the same for all
    ),
    "fedu": Ledger({"parameters": W}, {"parameters": W}, copies=M, first={"parameters": W}),
    "feddbe": Ledger(
        {"parameters": D, "centroids": HIDDEN}, {"parameters": D}, setup={"centroids": HIDDEN}
    ),
    "fedcp": Ledger({"parameters": D + POLICY}, {"parameters": D + POLICY}),
    "gpfl": Ledger({"parameters": B + VALVE}, {"parameters": B + VALVE}),
    "feddyn": Ledger({"parameters": W}, {"parameters": W}),
    "fedntd": Ledger({"parameters": W}, {"parameters": W}),
    "finetune": Ledger({"parameters": W}, {"parameters": W}),
    "apfl": Ledger({"parameters": W}, {"parameters": W}),
    "pfedme": Ledger({"parameters": W}, {"parameters": W}),
    "cgpfl": Ledger({"parameters": W}, {"parameters": W}, copies=2),
    "cgpfl_heur": Ledger(
        {"parameters": W}, {"parameters": W}, copies=3, hyper={"mu": 1e9}
    ),  # K = ⌊6 / 2⌋
    "comet": Ledger({"centroids": 2 * P}, {"predictions": P}, setup={"predictions": P}),
    "comet, c = 1": Ledger(
        {"centroids": P}, {"predictions": P}, setup={"predictions": P}, hyper={"clusters": 1}
    ),
    "comet, λ by distance": Ledger(  # and the usual distance
        {"centroids": 2 * P, "control": 1},
        {"predictions": P},
        setup={"predictions": P},
        hyper={"pull": "distance"},
    ),
    "ppfl": Ledger(
        {"parameters": K * W, **MEMBERSHIP},
        {"parameters": K * W, "coefficients": K},
        copies=M,
        setup={"coefficients": CLASSES},
    ),
    "ppfl, nobody alike": Ledger(
        {"parameters": K * W, **MEMBERSHIP},
        {"parameters": K * W, "coefficients": K},
        copies=M,
        setup={"control": 1},
        hyper={"affinity": "none"},
    ),
    "ppfl, bias shared": Ledger(
        {"parameters": K * (W - CLASSES) + CLASSES, **MEMBERSHIP},
        {"parameters": K * (W - CLASSES) + CLASSES, "coefficients": K},
        copies=M,
        setup={"coefficients": CLASSES},
        hyper={"canonical": "weight"},
    ),
}


def kinds(scalars):
    assert set(scalars) == set(KINDS)
    return {kind: number for kind, number in scalars.items() if number}


@pytest.mark.certifies("messages")
@pytest.mark.parametrize("case", EXPECTED)
def test_what_is_sent(case, record_property):
    """Every message has exactly the expected number of scalars of each kind."""
    name, expected = case.split(",")[0], EXPECTED[case]
    sizes = {"down": expected.down, "up": expected.up, "setup": dict(expected.setup)}
    sizes |= {} if expected.first is None else {"first": dict(expected.first)}
    record_property("sent", {**sizes, "copies": expected.copies, "hyper": dict(expected.hyper)})
    run = federated(name, hyper=dict(expected.hyper)).run(3, evaluate=False)
    setup = run.introduction.sent
    assert all(item.direction == "up" for item in setup)
    assert [kinds(item.scalars) for item in setup] == [expected.setup] * (
        M if expected.setup else 0
    )
    for number, moment in enumerate(run.moments, 1):
        opening = number == 1 and expected.first is not None
        down = [item for item in moment.record.sent if item.direction == "down"]
        up = [item for item in moment.record.sent if item.direction == "up"]
        assert (
            [item.client for item in down]
            == [item.client for item in up]
            == moment.record.participants
        )
        assert all(
            kinds(item.scalars) == (expected.first if opening else expected.down) for item in down
        )
        assert all(kinds(item.scalars) == expected.up for item in up)
        # a target without rows, before there are predictions, is bytes without numbers
        assert opening or all(
            (item.bytes > 0) == bool(kinds(item.scalars)) for item in moment.record.sent
        )
        first = [item for item in down if item.copy == 0]
        # clusters share a first message in the first round, and a cluster may lose all its members
        assert len(first) == (1 if opening else expected.copies) or (
            name in ("cgpfl", "cgpfl_heur") and len(first) <= expected.copies
        )
    last = [
        item for item in run.moments[-1].record.sent if item.direction == "down" and item.copy == 0
    ]
    assert len(last) == expected.copies


@pytest.mark.certifies("messages")
@pytest.mark.parametrize("name", NAMES)
def test_messages_have_known_kinds_and_finite_numbers(name):
    run = finished(federated(name, participation=0.7).run(3, evaluate=False))
    for moment in run.moments:
        for message in [
            *moment.down.values(),
            *(up for up in moment.up.values() if up is not None),
        ]:
            assert set(message) <= set(KINDS)
            assert all(np.isfinite(leaf).all() for _, leaf in named_leaves(message))


@pytest.mark.certifies("ppfl", "messages")
def test_ppfl_blocks_send_one_half_each():
    """schedule "random": θ rounds send parameters up, C rounds a membership vector and nothing
    else.
    """
    run = federated("ppfl", hyper={"schedule": "random"}).run(6, evaluate=False)
    seen = set()
    for moment in run.moments:
        sent = {
            tuple(kinds(item.scalars).items())
            for item in moment.record.sent
            if item.direction == "up"
        }
        seen |= sent
        assert len(sent) == 1
    assert seen == {(("parameters", K * W),), (("coefficients", K),)}


# what is a client's alone, by method: never in a message, neither up nor (from others) down
PERSONAL = {
    "fedper": "parameters",
    "lg_fedavg": "parameters",
    "partial_fl": "parameters",
    "fedsim": "parameters",
    "fedem": "membership",
    "ds_fl": "parameters",
    "fedmd": "parameters",
    "kt_pfl": "parameters",
    "local": "parameters",
    "comet": "parameters",
    "pfedme": "theta",
    "cgpfl": "theta",
    "cgpfl_heur": "theta",
    "persfl": "student",
    "ditto": "parameters",
    "perada": "parameters",
    "fedkd": "parameters",
    "fedrep": "parameters",
    "fedbabu": "tuned",
    "fedbn": "parameters",
    "fedala": "cells",
    "fedproto": "parameters",
    "fedtgp": "parameters",
    "fedas": "head",
    "gpfl": "head",
    "fedrod": "head",
    "feddbe": "memory",
    "knn_per": "features",
    "finetune": "parameters",
    "apfl": "parameters",
}


@pytest.mark.certifies("messages")
@pytest.mark.parametrize("name", PERSONAL)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_nothing_personal_is_sent(name, kind, record_property):
    """No tensor of a client's personal part is in any message, whole."""
    record_property("personal", PERSONAL[name])
    hyper = (
        {"student_lr": 0.05} if name == "persfl" else {}
    )  # else a student may repeat what FedAvg's round did
    run = finished(federated(name, hyper=hyper, kind=kind).run(3, evaluate=False))
    sent = [
        leaf
        for moment in run.moments
        for message in [*moment.down.values(), *(up for up in moment.up.values() if up is not None)]
        for _, leaf in named_leaves(message)
    ]
    mine = [
        own[PERSONAL[name]]
        for moment in run.moments
        for own in moment.own.values()
        if PERSONAL[name] in own
    ]
    assert mine
    for params in mine:
        for _, value in named_leaves(params):
            assert not any(
                np.shape(leaf) == value.shape and np.array_equal(leaf, value) for leaf in sent
            )
    if name == "comet":
        assert {np.shape(leaf)[-2:] for leaf in sent} == {(PUBLIC, CLASSES)}
        assert all((leaf >= 0).all() and np.allclose(leaf.sum(-1), 1) for leaf in sent)


# what a client keeps besides is known to the server by the method's definition, or is nothing at
# all
SHARED = {
    "ppfl": "the membership vector is sent, for the Laplacian needs it",
    "scaffold": "the changes of c_i are sent, and add up to it",
    "l2sgd": "the personal model is sent, for the mean needs it",
    "fedfomo": "the personal model is sent, for others to try it",
    "feddyn": "the slope of a client is what it sent, added up",
    "moon": "the client's last model was sent, for the mean",
    "fedamp": "the personal model is sent, for the server compares it with the others'",
    "fedcp": "the personal head is sent, as its mean with the head that the server knows",
}


@pytest.mark.certifies("messages")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in PERSONAL])
def test_who_keeps_nothing_personal(name, record_property):
    """A method without a personal part keeps no tensor at a client, or sends it by definition."""
    run = finished(federated(name).run(2, evaluate=False))
    kept = any(
        np.ndim(leaf)
        for moment in run.moments
        for own in moment.own.values()
        for _, leaf in named_leaves(own)
    )
    assert kept == (name in SHARED)
    record_property("personal", f"none: {SHARED[name] if kept else 'a client keeps no tensor'}")


@pytest.mark.rotating
def test_data_is_never_sent():
    """No sample and no label of a client is in any message of any method; PPFL's label counts are
    said so.
    """
    for name in NAMES:
        run = finished(federated(name).run(2, evaluate=False))
        rows = {tuple(x) for client in run.data.values() for x in client["x"].round(12)}
        messages = [
            *run.introductions.values(),
            *(up for m in run.moments for up in m.up.values() if up),
        ]
        for message in messages:
            for _, leaf in named_leaves(message):
                if np.ndim(leaf) and np.shape(leaf)[-1] == WIDTH:
                    assert not rows & {tuple(x) for x in np.reshape(leaf, (-1, WIDTH)).round(12)}
        if name == "ppfl":
            for k, message in run.introductions.items():
                assert (
                    message["coefficients"].tolist()
                    == np.bincount(run.data[k]["y"], minlength=CLASSES).tolist()
                )
