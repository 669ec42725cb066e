"""APFL beside tests/reference/apfl.py."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods.apfl import apfl
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.test_scaffold import with_norm
from tests.reference import apfl as reference
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("apfl", "reference")
LR, ROUNDS = 0.4, 6
WORK = {
    "epochs": {"epochs": 1},
    "some, decay": {
        "steps": 3,
        "participation": 0.8,
        "milestones": (2, 4),
        "decay": 0.5,
        "compile": "trace",
    },
}
HYPER = {
    "default": {},
    "from 0.05": {"alpha": 0.05},
    "from 0.95": {"alpha": 0.95},
    "fixed": {"alpha": 0.3, "adaptive": False},
    "received": {"mixture": "received"},
    "received, fixed": {"alpha": 0.3, "adaptive": False, "mixture": "received"},
}


def both(kind, hyper, work, lr=LR):
    model = architecture(kind)
    run = Federated(apfl(lr=lr, **hyper), population(), {kind: model}, **work).run(ROUNDS)
    start, who = arrays(model.initial), run.participants(ROUNDS)
    plan, rates = run.plan(ROUNDS), run.rates(lr, ROUNDS)
    return run, reference.apfl(start, run.data, plan, who, rates, **{"alpha": 0.5, **hyper})


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_apfl(kind, hyper, work):
    run, theirs = both(kind, hyper, work)
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["server"]["model"]
        agree("apfl", moment.state, {"parameters": w})
        agree(
            "apfl", moment.up, {k: {"parameters": upload} for k, upload in other["uploads"].items()}
        )
        for k, mixture in other["personal"].items():
            kept = {"mixture": mixture} if hyper.get("mixture") != "received" else {}
            agree(
                "apfl",
                moment.own[k],
                {"parameters": other["local"][k], "alpha": other["alpha"][k], **kept},
            )
            agree("apfl", moment.record.notes[k]["alpha"], other["alpha"][k])
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores(
                "apfl", moment, k, "test", mean_loss(mixture, x, y), accuracy(mixture, x, y)
            )
            agree_scores("apfl", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), "global")


def test_shares_move_and_are_clipped():
    """The comparison means something: clients learn different α, and both ends of [0,
    1] are met.
    """
    seen = {
        start: [
            a
            for other in both("dnn", {"alpha": start}, WORK["epochs"], lr)[1]
            for a in other["alpha"].values()
        ]
        for start, lr in ((0.5, LR), (0.02, LR), (0.98, LR))
    }
    assert len(set(seen[0.5])) > 10
    assert max(seen[0.98]) == 1.0
    assert min(seen[0.02]) == 0.0


def test_batch_norm():
    """Running statistics go through both models and the mixture; none of them breaks."""
    run = Federated(apfl(lr=0.1), population(), {"norm": with_norm()}, steps=3).run(3)
    for k, own in run.moments[-1].own.items():
        view = run.coordinator.views(k, 3)["personal"]
        assert all(torch.isfinite(value).all() for value in view.values())
        assert 0 < own["alpha"] < 1
        assert (view["buffer:1.running_var"] > 0).all()
        assert (view["buffer:1.running_mean"] != 0).any()


@pytest.mark.parametrize("wrong", [{"alpha": -0.1}, {"alpha": 1.1}, {"mixture": "new"}])
def test_a_share_outside_0_and_1_is_refused(wrong):
    with pytest.raises(FedkinError, match=r"method\.(alpha|mixture) of apfl: input should be"):
        apfl(lr=0.1, **wrong)
