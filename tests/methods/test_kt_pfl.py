"""KT-pFL beside tests/reference/kt_pfl.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.kt_pfl import kt_pfl
from tests.methods.federation import agree, told_in
from tests.methods.public_sets import (
    BATCH,
    BOTH,
    LR,
    ROUNDS,
    agree_personal,
    drawn,
    federation,
    starts,
)
from tests.reference import kt_pfl as reference

pytestmark = pytest.mark.certifies("kt_pfl", "reference")
HYPER = {"kappa_lr": 0.2, "lam": 1.5, "rho": 0.4, "temperature": 1.0, "distill_lr": None}
CASES = {
    "all": {"steps": 3, "compile": "trace"},
    "some": {"steps": 3, "participation": 0.4, "compile": "trace"},
    "epochs, decay": {
        "epochs": 1,
        "milestones": (1, 3),
        "decay": 0.3,
        "distill_lr": 0.7,
        "participation": 0.6,
    },
    "warm": {"steps": 2, "temperature": 4.0},
    "on the edge": {"steps": 2, "kappa_lr": 5.0, "rho": 0.01},
    "on the edge, some": {"steps": 2, "kappa_lr": 5.0, "rho": 0.01, "participation": 0.6},
    "a large public set": {"steps": 1, "public": 1030},
}


@pytest.mark.parametrize(
    ("case", "kinds"), [*((case, BOTH) for case in CASES), ("all", ("mlr",)), ("some", ("dnn",))]
)
def test_kt_pfl(case, kinds):
    work = dict(CASES[case])
    hyper = {name: work.pop(name, value) for name, value in HYPER.items()}
    run = federation(kt_pfl(lr=LR, distill_steps=4, public_batch=BATCH, **hyper), kinds, **work)
    public = run.people.public.numpy()
    theirs = reference.kt_pfl(
        starts(run),
        run.data,
        public,
        run.plan(ROUNDS),
        [
            {k: drawn(run, t, k, len(public), BATCH, 4, "public") for k in run.infos}
            for t in range(1, ROUNDS + 1)
        ],
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper["distill_lr"] or LR, ROUNDS),
        run.rates(hyper["kappa_lr"], ROUNDS),
        hyper["lam"],
        hyper["rho"],
        hyper["temperature"],
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        for k, told in other["messages"].items():
            agree("kt_pfl", moment.down[k]["predictions"], other["teams"].get(k, np.zeros((0, 3))))
            agree("kt_pfl", moment.up[k]["predictions"], told)
        agree("kt_pfl", moment.state["knowledge"], other["knowledge"])
        agree("kt_pfl", moment.state["teams"], np.array([other["server"][k] for k in range(5)]))
        agree(
            "kt_pfl",
            moment.record.server_metrics["knowledge"],
            told_in(moment, {k: list(row) for k, row in enumerate(other["knowledge"])}),
        )
        agree_personal("kt_pfl", run, moment, other["personal"])
    learned = run.moments[-1].state["knowledge"]
    assert np.abs(learned - 0.2).max() > 0.01
    if "edge" in case:
        assert (learned == 0).any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kappa_lr": -0.1},
        {"lam": -1.0},
        {"rho": -1.0},
        {"temperature": 0.0},
        {"distill_steps": 0},
        {"public_batch": 0},
        {"distill_lr": -1.0},
    ],
)
def test_bad_hyper_parameters(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of kt_pfl: input should be"):
        kt_pfl(lr=LR, **wrong)
