"""Every method of METHODS as a small experiment, by its needs: a method added later is under the
laws at once.
"""

import numpy as np

from fedkin.core.method import Method
from fedkin.methods import METHODS, make
from tests.methods.federation import Federated, architecture, population

LR = 0.2
PUBLIC = 12
SIZES = (5, 9, 4, 11, 7, 6)
ENVELOPE = {"lam": 1.5, "personal_lr": 0.15, "inner": 2}
HYPER = {  # where the defaults are too large for a test
    "fedper": {"personal": ("*bias",)},
    "lg_fedavg": {"shared": ("*bias",)},
    "partial_fl": {"personal": ("*weight",), "personal_lr": 0.1, "personal_steps": 3},
    "fedsim": {"personal": ("*weight",), "personal_lr": 0.1},
    "fedrep": {"personal": ("*bias",), "personal_steps": 3},
    "fedbabu": {"head": ("*bias",), "epochs": 2},
    "fedbn": {"personal": ("*bias",)},
    "fedala": {"adaptive": ("*weight",), "weight_lr": 0.3, "first_epochs": 3},
    "fedamp": {"alpha": 0.7, "sigma": 4.0, "lam": 0.5},
    "fedproto": {"lam": 0.7},
    "fedrod": {"gamma": 0.7, "personal_lr": 0.15},
    "knn_per": {"k": 3},
    "moon": {"mu": 2.0},
    "feddyn": {"alpha": 0.4},
    "fedpac": {"lam": 0.7, "personal_lr": 0.15},
    "fedu": {"pull": 0.3},
    "feddbe": {"kappa": 2.0, "momentum": 0.3},
    "fedtgp": {"server_epochs": 3, "server_lr": 0.1, "server_batch": 99},  # one order of all
    "fedas": {"align_lr": 0.3},
    "fedcp": {"lam": 2.0},
    "gpfl": {"lam": 0.4},
    "fedntd": {"beta": 1.5, "temperature": 0.7},
    "per_fedavg": {"inner_lr": 0.1},
    "l2sgd": {"lam": 1.0, "p": 0.4},
    "finetune": {"epochs": 2},
    "ditto": {"lam": 0.6, "personal_steps": 3},
    "comet": {"clusters": 2, "public_batch": 5},
    "persfl": {"lams": (0.0, 0.5), "temperatures": (1.0, 5.0), "student_epochs": 2},
    "pfedme": ENVELOPE,
    "cgpfl": {**ENVELOPE, "clusters": 2, "alpha": 0.5},
    "cgpfl_heur": {**ENVELOPE, "mu": 30.0, "alpha": 0.5},
    "ppfl": {"models": 3, "lam": 0.1},
    "feddf": {"distill_steps": 3, "public_batch": PUBLIC},  # no draw depends on a client's number
    "perada": {
        "lam": 0.6,
        "personal_steps": 3,
        "distill_steps": 3,
        "public_batch": PUBLIC,
    },
    "fedkd": {"personal_lr": 0.15, "rounds": 100},
    "ds_fl": {"distill_steps": 3, "public_batch": PUBLIC},
    "fedmd": {"subset": 5, "pretrain_steps": 3, "digest_steps": 2, "public_batch": PUBLIC},
    "kt_pfl": {"distill_steps": 3, "public_batch": PUBLIC},
    "ifca": {"clusters": 3},
    "hypcluster": {"clusters": 2, "starts": 2, "trial": 2},
    "clustered_fl": {"eps1": 0.9, "eps2": 0.1, "gamma": 0.1},
}
NAMES = sorted(METHODS)
NEEDS = {name: make(name, HYPER.get(name, {}), {"lr": LR}).needs for name in NAMES}
FEDERATED = [
    name for name in NAMES if not NEEDS[name].pooled
]  # under the laws of who has which data
PARTIAL = [name for name in FEDERATED if not NEEDS[name].full_participation]


def method(name: str, **hyper) -> Method:
    return make(name, {**HYPER.get(name, {}), **hyper}, {"lr": LR})


def people(**how):
    return population(**{"sizes": SIZES, "seed": 5, "public": PUBLIC, **how})


def federated(name: str, *, hyper=None, group=None, kind: str = "mlr", **work) -> Federated:
    """An experiment of this method; participation is 1 where it needs everyone, the model has two
    layers where it needs a head.
    """
    chosen = method(name, **(hyper or {}))
    kind = "dnn" if chosen.needs.head else kind
    if chosen.needs.full_participation:
        work["participation"] = 1.0
    if "epochs" not in work:
        work.setdefault("steps", 2)
    group = people() if group is None else group
    if chosen.needs.pooled:  # as assemble does
        work["participation"] = 1 / group.clients
    models = {kind: architecture(kind, dtype=group.x.dtype)}
    return Federated(chosen, group, models, **work)


def finished(run: Federated) -> Federated:
    """The same after its ``finish``, where it has one."""
    run.moments.append(run.finish())
    return run


def same(a, b) -> bool:
    """Two trees of arrays, bit by bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(
        a, b, equal_nan=np.asarray(a).dtype.kind == "f"
    )


def close(a, b, tolerance: float = 1e-9) -> None:
    """Two trees of arrays, up to the order of sums."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            close(a[name], b[name], tolerance)
    elif isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            close(x, y, tolerance)
    else:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
