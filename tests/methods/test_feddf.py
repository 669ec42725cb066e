"""FedDF beside tests/reference/feddf.py."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.feddf import feddf
from tests.methods.federation import agree, agree_scores, arrays
from tests.methods.public_sets import BATCH, BOTH, LR, ROUNDS, drawn_by_server, federation
from tests.reference import feddf as reference
from tests.reference.model import accuracy, mean_loss

pytestmark = pytest.mark.certifies("feddf", "reference")
CASES = {
    "all": {"steps": 3, "compile": "trace"},
    "some": {"steps": 3, "participation": 0.6, "compile": "trace"},
    "one architecture at a time": {"steps": 3, "participation": 0.2},
    "epochs, decay": {"epochs": 1, "milestones": (1, 3), "decay": 0.3, "participation": 0.6},
    "a large public set": {"steps": 1, "public": 1030},
}
STEPS, RATE = 4, 0.4


@pytest.mark.parametrize(
    ("case", "kinds"), [*((case, BOTH) for case in CASES), ("all", ("mlr",)), ("some", ("dnn",))]
)
def test_feddf(case, kinds):
    run = federation(
        feddf(lr=LR, distill_steps=STEPS, distill_lr=RATE, public_batch=BATCH), kinds, **CASES[case]
    )
    kind = {k: info.architecture for k, info in run.infos.items()}
    rows = [drawn_by_server(run, t, BATCH, STEPS, "distill") for t in range(1, ROUNDS + 1)]
    theirs = reference.feddf(
        {name: arrays(model.initial) for name, model in run.models.items()},
        kind,
        run.data,
        run.people.public.numpy(),
        run.plan(ROUNDS),
        [dict.fromkeys(kinds, one) for one in rows],
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(RATE, ROUNDS),
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("feddf", moment.down, {k: {"parameters": w} for k, w in other["down"].items()})
        agree("feddf", moment.up, {k: {"parameters": w} for k, w in other["uploads"].items()})
        agree("feddf", moment.state["parameters"], other["server"])
        assert all(own == {} for own in moment.own.values())
        for k, name in kind.items():
            w, x, y = other["server"][name], run.data[k]["x_test"], run.data[k]["y_test"]
            for view in ("personal", "global"):
                agree_scores(
                    "feddf", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y), view
                )


@pytest.mark.parametrize("wrong", [{"distill_steps": -1}, {"distill_lr": 0.0}, {"public_batch": 0}])
def test_bad_hyper_parameters(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of feddf: input should be"):
        feddf(lr=LR, **wrong)
