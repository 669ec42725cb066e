"""FedAMP beside tests/reference/fedamp.py."""

from math import exp

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.fedamp import attend, fedamp
from tests.laws.small import same
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedamp as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
HYPER = {"lam": 0.4, "alpha": 0.5, "sigma": 3.0}
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}


@pytest.mark.certifies("fedamp", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_fedamp(kind, work):
    model = architecture(kind)
    run = Federated(fedamp(lr=LR, **HYPER), population(), {kind: model}, **work).run(ROUNDS)
    rates, who = run.rates(LR, ROUNDS), run.participants(ROUNDS)
    theirs = reference.fedamp(
        arrays(model.initial), run.data, run.plan(ROUNDS), who, rates, **HYPER
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        for k, u in other["down"].items():
            agree("fedamp", moment.down[k], {"parameters": u})
        for k, w in other["own"].items():
            agree("fedamp", moment.own[k], {"parameters": w})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedamp", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("fedamp", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_without_pull_it_is_local(work):
    """λ = 0: nobody is drawn to what the server sends; equal to the bit."""
    both = [
        Federated(make(name, hyper, {"lr": LR}), population(), **work).run(ROUNDS, evaluate=False)
        for name, hyper in (("fedamp", {**HYPER, "lam": 0.0}), ("local", {}))
    ]
    for a, b in zip(both[0].moments, both[1].moments, strict=True):
        assert same(a.own, b.own)


@pytest.mark.certifies("fedamp", "closed form")
def test_attention_of_known_models():
    """w = 0, 1, 3 in one dimension, only the second one trained: ξ_0 = (1 − a, a, 0)."""
    models = tuple({"w": torch.tensor([value], dtype=torch.float64)} for value in (0.0, 1.0, 3.0))
    state = {"models": models, "trained": torch.tensor([False, True, False])}
    a = 0.5 / 2.0 * exp(-1 / 2.0)
    assert attend(state, 0, 0.5, 2.0).tolist() == pytest.approx([1 - a, a, 0.0], rel=1e-12)
    b = 0.5 / 2.0 * exp(-4 / 2.0)  # ‖3 − 1‖² = 4
    assert attend(state, 2, 0.5, 2.0).tolist() == pytest.approx([0.0, b, 1 - b], rel=1e-12)


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"alpha": 0.0}, {"sigma": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedamp: input should be"):
        fedamp(lr=0.1, **wrong)


def test_too_many_others():
    with pytest.raises(FedkinError, match="less than nothing of its own model: sigma of at least"):
        Federated(make("fedamp", {"sigma": 1.0}, {"lr": LR}), population())
