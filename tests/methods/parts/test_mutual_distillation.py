"""What two models tell each other, by hand, and whose running statistics move."""

import math

import pytest
import torch
from torch import nn

from fedkin.core.model import Batch, from_module
from fedkin.methods.fedavg import sgd_step
from fedkin.methods.parts.extra_parameters import without
from fedkin.methods.parts.mutual_distillation import MAP, mutual_step, objective
from fedkin.models.head import with_head
from tests.methods.federation import architecture


@pytest.mark.certifies("fedkd", "closed form")
def test_what_the_two_tell_each_other():
    """A mentor that says (1/2, 1/2) with features (1, 2), a mentee that says (3/4, 1/4) with
    features (3, 4), which W_h turns into (4, 3), one sample of class 0. Losses ln 2 and ln 4/3,
    together ln 8/3; KL(mentee ‖ mentor) = ln 2 − H(1/4), KL(mentor ‖ mentee) = ln 2/√3;
    MSE = (3² + 1²)/5 = 2, three of five features being 0.
    """
    model = architecture("dnn", classes=2)
    x = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).double()

    def told(h, odds):
        w = {name: torch.zeros_like(value) for name, value in model.initial.items()}
        w["hidden.bias"][:2] = torch.tensor(h).double()
        w["out.bias"][0] = math.log(odds)
        return w

    linear = torch.zeros(5, 5).double()
    linear[0, 1] = linear[1, 0] = 1.0
    mentor, mentee = {**told((1.0, 2.0), 1.0), MAP: linear}, told((3.0, 4.0), 3.0)
    batch = Batch(x, torch.tensor([0]), torch.tensor([1.0]).double())
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    both, mse = math.log(8 / 3), 2.0
    one, two = torch.tensor(1.0).double(), torch.tensor(2.0).double()
    found = float(objective(mentor, model, batch, mentee, one, two))
    assert found == pytest.approx(math.log(2) + (math.log(2) - entropy + 2 * mse) / both)
    found = float(objective(mentee, model, batch, mentor, two, one))
    assert found == pytest.approx(math.log(4 / 3) + (2 * math.log(2 / math.sqrt(3)) + mse) / both)


def test_nothing_is_divided_by_0():
    """Both are right beyond all doubt: losses of 0, and no number that is none."""
    model = architecture("dnn", classes=2)
    w = {name: torch.zeros_like(value) for name, value in model.initial.items()}
    sure = {**w, "out.bias": torch.tensor([900.0, 0.0]).double()}
    batch = Batch(torch.ones(1, 4).double(), torch.tensor([0]), torch.ones(1).double())
    one = torch.tensor(1.0).double()
    assert float(objective(sure, model, batch, {**sure, MAP: torch.eye(5).double()}, one, one)) == 0


def test_running_statistics_are_those_of_their_own_passes():
    """A step moves them as a step alone does, whatever the other model's are."""
    torch.manual_seed(3)
    layers = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)
    module = nn.Sequential(*layers).double()
    model = with_head(from_module("normed", module), module, torch.ones(2, 3).double())
    mentor = {name: value + 0.5 for name, value in model.initial.items()}
    batch = Batch(torch.randn(6, 3).double(), torch.arange(6) % 2, torch.full((6,), 1 / 6).double())
    rate = torch.tensor(0.1).double()
    both = {**mentor, MAP: torch.eye(4).double()}, dict(model.initial)
    found = mutual_step(model, both, batch, rate, rate, rate, rate)
    for ours, before in zip(found, (mentor, model.initial), strict=True):
        alone = sgd_step(model, before, batch, rate)
        assert set(without(ours, MAP)) == set(alone)
        apart = {name for name in alone if not torch.equal(ours[name], alone[name])}
        assert apart >= {"3.weight", "3.bias"}
        assert not any(name.startswith("buffer:") for name in apart)
