"""FedMD beside tests/reference/fedmd.py."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.tree import map_tree
from fedkin.methods.fedmd import fedmd
from fedkin.methods.local import local
from tests.methods.federation import Federated, agree, arrays, population
from tests.methods.public_sets import (
    BOTH,
    LR,
    PUBLIC,
    ROUNDS,
    agree_personal,
    drawn,
    federation,
    starts,
)
from tests.reference import fedmd as reference

pytestmark = pytest.mark.certifies("fedmd", "reference")
CASES = {
    "steps": {"steps": 3, "compile": "trace"},
    "epochs, decay": {"epochs": 1, "milestones": (1, 3), "decay": 0.3, "public_lr": 0.1},
    "half of the public set": {"steps": 2, "subset": None, "public": 11},
    "the whole public set": {"steps": 2, "subset": PUBLIC},
    "a large public set": {"steps": 1, "public": 1100, "subset": 1050},
}
BATCH, TRANSFER, DIGEST = 4, 5, 3


@pytest.mark.parametrize(
    ("case", "kinds"), [*((case, BOTH) for case in CASES), ("steps", ("mlr",)), ("steps", ("dnn",))]
)
def test_fedmd(case, kinds):
    work = dict(CASES[case])
    chosen, public_lr = work.pop("subset", 7), work.pop("public_lr", None)
    sizes = {
        "subset": chosen,
        "pretrain_steps": TRANSFER,
        "digest_steps": DIGEST,
        "public_batch": BATCH,
    }
    run = federation(fedmd(lr=LR, public_lr=public_lr, **sizes), kinds, **work)
    public = run.people.public.numpy()
    subset = chosen or (len(public) + 1) // 2
    subsets = [moment.down[0]["control"]["rows"] for moment in run.moments]
    theirs = reference.fedmd(
        starts(run),
        run.data,
        public,
        run.people.public_y.numpy(),
        run.plan(ROUNDS),
        {k: drawn(run, 1, k, len(public), BATCH, TRANSFER, "transfer") for k in run.infos},
        [
            {k: drawn(run, t, k, subset, BATCH, DIGEST, "digest") for k in run.infos}
            for t in range(1, ROUNDS + 1)
        ],
        subsets,
        run.rates(LR, ROUNDS),
        run.rates(public_lr or LR, ROUNDS),
    )
    before = np.zeros(0, dtype=int)
    for moment, other, rows in zip(run.moments, theirs, subsets, strict=True):
        assert len(set(rows)) == subset
        assert set(rows) <= set(range(len(public)))
        consensus = np.zeros((0, 3)) if other["consensus"] is None else other["consensus"]
        down = {"control": {"rows": rows, "digest": before}, "predictions": consensus}
        agree("fedmd", moment.down, dict.fromkeys(run.infos, down))
        agree(
            "fedmd",
            moment.up,
            {k: {"predictions": scores} for k, scores in other["messages"].items()},
        )
        agree("fedmd", moment.state["predictions"], other["server"])
        agree_personal("fedmd", run, moment, other["personal"])
        before = rows
    assert len({tuple(rows) for rows in subsets}) == ROUNDS  # drawn afresh every round


def test_after_a_first_round_without_a_sum_private_training_goes_on():
    """Under masks such a round leaves the server's state as it was: there is nothing to digest."""
    method = fedmd(lr=LR, subset=7, pretrain_steps=TRANSFER, public_batch=BATCH)
    run = Federated(method, population(public=PUBLIC), steps=2)
    first = run.setup().coordinator.state
    moments = run.run(1).moments
    run.coordinator.state = first
    run.run(1)
    alone = Federated(local(lr=LR), run.people, steps=2).setup()
    for k, own in moments[0].own.items():
        alone.host.store.put(k, {"parameters": map_tree(torch.from_numpy, own["parameters"])})
        data = alone.host.training(2, k)
        trained, _ = alone.method.client_update({}, alone.host.personal_state(k), data)
        agree("fedmd", moments[1].own[k]["parameters"], arrays(trained["parameters"]))


def test_a_subset_larger_than_the_public_set():
    with pytest.raises(FedkinError, match="a subset of 13 of 12 public samples: lower method"):
        Federated(fedmd(lr=LR, subset=13), population(public=12), steps=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"subset": 0},
        {"pretrain_steps": 0},
        {"digest_steps": 0},
        {"public_batch": 0},
        {"public_lr": -0.1},
    ],
)
def test_bad_hyper_parameters(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedmd: input should be"):
        fedmd(lr=LR, **wrong)
