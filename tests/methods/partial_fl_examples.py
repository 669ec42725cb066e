"""What the tests of partial_fl and of its parts have in common."""

from torch import nn

from fedkin.core.model import from_module
from fedkin.methods import make
from tests.methods.federation import (
    WIDTH,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import partial_fl as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4


WORK = {
    "epochs": {"epochs": 2},
    "some": {"steps": 3, "participation": 0.6},
    "decay": {
        "epochs": 1,
        "participation": 0.6,
        "milestones": (2, 3),
        "decay": 0.5,
        "compile": "trace",
    },
}


HIDDEN, OUT = ["hidden.weight", "hidden.bias"], ["out.weight", "out.bias"]


SPLITS = {  # architecture, the choice, the names that it means
    "last": ("dnn", "last", OUT),
    "first": ("dnn", "first", HIDDEN),
    "prefixes": ("dnn", ("hidden.b", "out.w"), ["hidden.bias", "out.weight"]),
    "every bias": ("dnn", "*bias", ["hidden.bias", "out.bias"]),
    "mlr": ("mlr", ("bias",), ["bias"]),
}


def compare(name, kind, personal, work, hyper, alternate=False, uniform=False):
    """A run of the method, and the reference with the same batches: states, messages, scores."""
    model = architecture(kind)
    run = Federated(make(name, hyper, {"lr": LR}), population(), {kind: model}, **work).run(ROUNDS)
    who, plan = run.participants(ROUNDS), run.plan(ROUNDS)
    rates = [run.rates(rate, ROUNDS) for rate in (LR, hyper.get("personal_lr", LR))]
    apart = (
        run.plan(ROUNDS, purpose="personal", steps=hyper.get("personal_steps"))
        if alternate
        else None
    )
    first = arrays(model.initial)
    theirs = reference.partial_fl(
        first, run.data, plan, who, personal, *rates, personal_plan=apart, uniform=uniform
    )
    before = {n: v for n, v in first.items() if n not in personal}
    for moment, other, active in zip(run.moments, theirs, who, strict=True):
        u = other["server"]["model"]
        agree(name, moment.state, {"parameters": u})
        agree(
            name, moment.up, {k: {"parameters": upload} for k, upload in other["uploads"].items()}
        )
        agree(name, moment.down, {k: {"parameters": before} for k in active})
        agree(name, moment.own, {k: {"parameters": v} for k, v in other["personal"].items()})
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            w = {**u, **other["personal"][k]}
            agree_scores(name, moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
        before = u


def normed():
    """Names 0.weight 0.bias, 1.weight 1.bias and statistics 1.running_mean 1.running_var,
    2.running_… , 3.weight.
    """
    layers = (
        nn.Linear(WIDTH, 3),
        nn.BatchNorm1d(3),
        nn.BatchNorm1d(3, affine=False),
        nn.Linear(3, 2, bias=False),
    )
    return from_module("normed", nn.Sequential(*layers))


STATISTICS = {f"buffer:{layer}.running_{which}" for layer in (1, 2) for which in ("mean", "var")}


ONE = {name for name in STATISTICS if ":1." in name}


CHOICES = {
    "last": {"3.weight"},
    "first": {"0.weight", "0.bias"},
    "1.": {"1.weight", "1.bias", *ONE},
    ("1.", "3."): {"1.weight", "1.bias", "3.weight", *ONE},
    "*bias": {"0.bias", "1.bias"},
    "all": {"0.weight", "0.bias", "1.weight", "1.bias", "3.weight", *STATISTICS},
    (): set(),
}
