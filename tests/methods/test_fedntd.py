"""FedNTD beside tests/reference/fedntd.py."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.fedntd import fedntd, not_true
from tests.laws.small import close, same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedntd as reference
from tests.reference.model import accuracy, mean_loss

LR, BETA, TAU, ROUNDS = 0.3, 1.7, 0.6, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}


@pytest.mark.certifies("fedntd", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_fedntd(kind, work):
    model = architecture(kind)
    made = fedntd(lr=LR, beta=BETA, temperature=TAU)
    run = Federated(made, population(), {kind: model}, **work).run(ROUNDS)
    rates, who = run.rates(LR, ROUNDS), run.participants(ROUNDS)
    theirs = reference.fedntd(
        arrays(model.initial), run.data, run.plan(ROUNDS), who, rates, BETA, TAU
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["model"]
        agree("fedntd", moment.state, {"parameters": w})
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedntd", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("fedntd", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_distillation_it_is_fedavg(work):
    """β = 0: the server's states are FedAvg's, to the bit."""
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), **work).run(ROUNDS)
        for name, hyper in (("fedntd", {"beta": 0.0}), ("fedavg", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.state, b.state)


@pytest.mark.certifies("fedntd", "law")
def test_of_two_classes_one_is_left():
    """Whatever β is, nothing is distilled: FedAvg."""
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(classes=2), epochs=1).run(ROUNDS)
        for name, hyper in (("fedntd", {"beta": 9.0}), ("fedavg", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        close(a.state, b.state, 1e-12)


def test_the_true_class_counts_nothing():
    logits, y = torch.tensor([[1.0, 50.0, 3.0]], dtype=torch.float64), torch.tensor([1])
    told = not_true(logits, y).exp()
    left = torch.softmax(logits[:, [0, 2]], 1)
    assert told[0].tolist() == pytest.approx([float(left[0, 0]), 0.0, float(left[0, 1])])


@pytest.mark.parametrize("wrong", [{"beta": -1.0}, {"temperature": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedntd: input should be"):
        fedntd(lr=0.1, **wrong)
