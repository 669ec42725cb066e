"""DS-FL beside tests/reference/ds_fl.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.ds_fl import ds_fl
from tests.methods.federation import agree
from tests.methods.public_sets import (
    BATCH,
    BOTH,
    LR,
    PUBLIC,
    ROUNDS,
    agree_personal,
    drawn,
    federation,
    starts,
)
from tests.reference import ds_fl as reference

pytestmark = pytest.mark.certifies("ds_fl", "reference")
CASES = {
    "all": {"steps": 3, "compile": "trace"},
    "some": {"steps": 3, "participation": 0.6, "compile": "trace"},
    "epochs, decay": {"epochs": 1, "milestones": (1, 3), "decay": 0.3, "distill_lr": 0.7},
    "hardly sharpened": {"steps": 2, "temperature": 3.0, "participation": 0.6},
    "a large public set": {"steps": 1, "public": 1030},  # predictions are made 1024 rows at a time
}


@pytest.mark.parametrize(
    ("case", "kinds"), [*((case, BOTH) for case in CASES), ("all", ("mlr",)), ("some", ("dnn",))]
)
def test_ds_fl(case, kinds):
    work = dict(CASES[case])
    temperature, distill_lr = work.pop("temperature", 0.1), work.pop("distill_lr", None)
    method = ds_fl(
        lr=LR, temperature=temperature, distill_steps=4, distill_lr=distill_lr, public_batch=BATCH
    )
    run = federation(method, kinds, **work)
    public = run.people.public.numpy()
    theirs = reference.ds_fl(
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
        run.rates(distill_lr or LR, ROUNDS),
        temperature,
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        target = np.zeros((0, 3)) if other["target"] is None else other["target"]
        agree("ds_fl", moment.down, {k: {"predictions": target} for k in other["messages"]})
        agree(
            "ds_fl", moment.up, {k: {"predictions": told} for k, told in other["messages"].items()}
        )
        agree("ds_fl", moment.state, {"predictions": other["server"]})
        agree_personal("ds_fl", run, moment, other["personal"])


def test_the_first_round_has_no_target():
    """It is private training alone, as the paper's first round is before its first exchange."""
    run = federation(ds_fl(lr=LR, public_batch=BATCH), steps=2)
    assert {down["predictions"].shape for down in run.moments[0].down.values()} == {(0, 3)}
    assert {down["predictions"].shape for down in run.moments[1].down.values()} == {(PUBLIC, 3)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"distill_steps": 0},
        {"public_batch": 0},
        {"distill_lr": -1},
    ],
)
def test_bad_hyper_parameters(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of ds_fl: input should be"):
        ds_fl(lr=LR, **wrong)
