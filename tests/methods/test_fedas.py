"""FedAS beside tests/reference/fedas.py."""

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.methods import make
from fedkin.methods.fedas import fedas
from tests.laws.small import close
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedas as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "two passes": {"align_epochs": 2, "align_lr": 0.7}}


@pytest.mark.certifies("fedas", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedas(hyper, work):
    model = architecture("dnn")
    run = Federated(fedas(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    theirs = reference.fedas(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.plan(ROUNDS, purpose="align", epochs=hyper.get("align_epochs", 1)),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("align_lr", 0.01), ROUNDS),
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedas", moment.state["parameters"], other["body"])
        for k, value in other["traces"].items():
            agree("fedas", moment.up[k]["coefficients"], np.array([value]))
        for k, w in other["own"].items():
            if moment.own[k]:
                agree("fedas", {**moment.own[k]["parameters"], **moment.own[k]["head"]}, w)
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedas", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("fedas", "law")
def test_alone_and_without_alignment_it_is_local():
    """One client, whose body is the mean of one: local's model."""
    models = {"dnn": architecture("dnn")}
    runs = [
        Federated(make(name, hyper, {"lr": LR}), population((9,)), models, epochs=2).run(ROUNDS)
        for name, hyper in (("fedas", {"align_epochs": 0}), ("local", {}))
    ]
    for a, b in zip(runs[0].moments, runs[1].moments, strict=True):
        w = {**a.own[0]["parameters"], **a.own[0]["head"]}
        close(w, b.own[0]["parameters"], 1e-12)


@pytest.mark.certifies("fedas", "closed form")
def test_known_traces():
    """Bodies 0 and 6 with traces 1 and 2: 4; with traces of nothing at all they count alike."""

    def body(traces):
        replies = {
            k: Reply(
                {"parameters": {"w": torch.tensor([w])}, "coefficients": torch.tensor([t])}, 7.0
            )
            for k, w, t in ((3, 0.0, traces[0]), (1, 6.0, traces[1]))
        }
        return fedas(lr=0.1).server_update({}, replies, None)["parameters"]["w"].tolist()

    assert body((1.0, 2.0)) == pytest.approx([4.0])
    assert body((0.0, 0.0)) == pytest.approx([3.0])


@pytest.mark.parametrize("wrong", [{"align_epochs": -1}, {"align_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match=r"method\.\w+ of fedas: input should be"):
        fedas(lr=0.1, **wrong)


def test_a_body_that_is_frozen_is_refused():
    frozen = architecture("dnn")
    body = {name: value for name, value in frozen.initial.items() if name not in frozen.head.names}
    with pytest.raises(FedkinError, match=r"shares the body .* model\.frozen holds all of it"):
        Federated(fedas(lr=LR), population(), {"dnn": frozen.freezing(body)})
