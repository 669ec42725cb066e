"""Per-FedAvg beside tests/reference/per_fedavg.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.per_fedavg import per_fedavg
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import per_fedavg as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.2, 4
HYPER = {"lr": LR, "inner_lr": 0.3, "delta": 0.02}  # α, δ so large that every term shows
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


@pytest.mark.certifies("per_fedavg", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(("hessian", "adapt_steps"), [("hf", 1), ("hf", 3), ("fo", 2)])
def test_per_fedavg(hessian, adapt_steps, kind, work):
    model = architecture(kind)
    method = per_fedavg(**HYPER, hessian=hessian, adapt_steps=adapt_steps)
    run = Federated(method, population(), {kind: model}, **work).run(ROUNDS)
    who = run.participants(ROUNDS)
    plans = tuple(
        run.plan(ROUNDS, purpose=purpose) for purpose in ("inner", "batches", "curvature")
    )
    adapting = run.plan(ROUNDS, purpose="adapt", steps=adapt_steps)
    theirs = reference.per_fedavg(
        arrays(model.initial),
        run.data,
        plans,
        adapting,
        who,
        run.rates(LR, ROUNDS),
        HYPER["inner_lr"],
        hessian,
        HYPER["delta"],
    )
    for t, (moment, other) in enumerate(zip(run.moments, theirs, strict=True), 1):
        agree("per_fedavg", moment.state, {"parameters": other["server"]["model"]})
        agree(
            "per_fedavg",
            moment.up,
            {k: {"parameters": upload} for k, upload in other["uploads"].items()},
        )
        assert all(own == {} for own in moment.own.values())
        for k in run.data:
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            for view, w in (
                ("personal", other["personal"][k]),
                ("global", other["server"]["model"]),
            ):
                agree_scores(
                    "per_fedavg", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view
                )
            if t == ROUNDS:
                agree(
                    "per_fedavg",
                    arrays(run.coordinator.views(k, t))["personal"],
                    other["personal"][k],
                )


def test_the_three_batches_of_a_step_are_drawn_independently():
    run = Federated(per_fedavg(**HYPER), population((40, 30)), steps=6)
    plans = [
        np.array([index for index, _ in run.batches(1, 0, purpose=purpose)])
        for purpose in ("inner", "batches", "curvature")
    ]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert not np.array_equal(plans[a], plans[b])


def test_hessian_free_is_the_default_and_differs_from_first_order():
    ends = {}
    for name, hyper in {"default": {}, "hf": {"hessian": "hf"}, "fo": {"hessian": "fo"}}.items():
        run = Federated(per_fedavg(**HYPER, **hyper), population(), steps=3).run(2, evaluate=False)
        ends[name] = run.moments[-1].state["parameters"]["weight"]
    assert np.array_equal(ends["default"], ends["hf"])
    assert np.abs(ends["hf"] - ends["fo"]).max() > 1e-3


@pytest.mark.parametrize(
    "wrong", [{"inner_lr": -0.1}, {"hessian": "exact"}, {"delta": 0.0}, {"adapt_steps": 0}]
)
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of per_fedavg: input should be"):
        per_fedavg(**{"lr": 0.1, **wrong})
