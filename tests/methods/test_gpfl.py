"""GPFL beside tests/reference/gpfl.py."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods.gpfl import gpfl
from fedkin.methods.parts.conditional_valve import CLASSES, modules, moved
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import gpfl as reference
from tests.reference.model import cross_entropy_of_logits

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "strong": {"lam": 0.8, "mu": 0.0}}


@pytest.mark.certifies("gpfl", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_gpfl(hyper, work):
    model = architecture("dnn")
    run = Federated(gpfl(lr=LR, **hyper), population(), {"dnn": model}, **work).setup()
    drawn = arrays(run.coordinator.state["parameters"])
    first = {name: drawn[name] for name in drawn if name not in model.initial}
    run.run(ROUNDS)
    theirs = reference.gpfl(
        arrays(model.initial),
        first,
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        hyper.get("lam", 0.01),
        hyper.get("mu", 0.1),
    )
    worked = set()
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("gpfl", moment.state["parameters"], other["global"])
        worked |= set(moment.record.participants)
        for k, head in other["heads"].items():
            assert (k in worked) == bool(moment.own[k])
            if k in worked:
                agree("gpfl", moment.own[k]["head"], head)
            own, _ = reference.conditions(other["global"]["gpfl:classes"], run.data[k])
            w, x, y = {**other["global"], **head}, run.data[k]["x_test"], run.data[k]["y_test"]
            z = reference.outputs(w, x, own)
            loss = cross_entropy_of_logits(z, y, np.full(len(y), 1 / len(y)))
            agree_scores("gpfl", moment, k, "test", loss, float(np.mean(z.argmax(1) == y)))


@pytest.mark.certifies("gpfl", "closed form")
def test_a_valve_that_can_be_worked_out():
    """Of a condition (1, 0) the scale's layer makes (3, 0), normalised (1, −1), and the shift's
    (0, 0): features (2, 5) become (4, 0); with a shift of (−3, 4) they become (1, 4).
    """
    w = {name: torch.zeros_like(value) for name, value in some(2).items()}
    w["gpfl:scale.weight"][0, 0] = 3.0
    w["gpfl:scale.norm.weight"] += 1.0
    found, condition = torch.tensor([[2.0, 5.0]]).double(), torch.tensor([1.0, 0.0]).double()
    torch.testing.assert_close(
        moved(w, found, condition), torch.tensor([[4.0, 0.0]]).double(), atol=1e-4, rtol=0
    )
    w["gpfl:shift.norm.bias"] += torch.tensor([-3.0, 4.0])
    torch.testing.assert_close(
        moved(w, found, condition), torch.tensor([[1.0, 4.0]]).double(), atol=1e-4, rtol=0
    )


@pytest.mark.certifies("gpfl", "closed form")
def test_nothing_but_decay_moves_a_class_that_nobody_pulls():
    """One class alone: its cross-entropy is 0, and without λ its embedding decays to
    (1 − lr μ)^steps of what it was.
    """
    group = population((6,), classes=1)
    model = architecture("dnn", classes=1)
    run = Federated(gpfl(lr=0.5, lam=0.0, mu=0.2), group, {"dnn": model}, steps=3).setup()
    before = run.coordinator.state["parameters"][CLASSES].numpy().copy()
    after = run.run(1).moments[-1].state["parameters"][CLASSES]
    np.testing.assert_allclose(after, before * 0.9**3, rtol=1e-12)


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"mu": -0.1}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of gpfl: input should be"):
        gpfl(lr=0.1, **wrong)


def some(size):
    return modules(3, size, torch.float64, torch.Generator().manual_seed(1))
