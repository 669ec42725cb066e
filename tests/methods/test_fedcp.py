"""FedCP beside tests/reference/fedcp.py."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods.fedcp import fedcp
from fedkin.methods.parts.conditional_policy import (
    WIDTHS,
    direction,
    discrepancy,
    network,
    policy,
)
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import fedcp as reference
from tests.reference.model import cross_entropy_of_logits

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 2},
    "some, decay": {"steps": 3, "participation": 0.4, "milestones": (2,), "decay": 0.5},
}
HYPER = {"authors": {"lam": 5.0}, "hardly pulled": {"lam": 0.2}}


@pytest.mark.certifies("fedcp", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedcp(hyper, work):
    model = architecture("dnn")
    run = Federated(fedcp(lr=LR, **hyper), population(), {"dnn": model}, **work).setup()
    drawn = arrays(run.coordinator.state["parameters"])
    first = {name: drawn[name] for name in drawn if name not in model.initial}
    run.run(ROUNDS)
    theirs = reference.fedcp(
        arrays(model.initial),
        first,
        run.data,
        run.plan(ROUNDS),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        hyper["lam"],
    )
    worked = set()
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedcp", moment.state["parameters"], other["global"])
        worked |= set(moment.record.participants)
        for k, head in other["heads"].items():
            assert (k in worked) == bool(moment.own[k])
            if k in worked:
                agree("fedcp", moment.own[k]["head"], head)
            w, x, y = {**other["global"], **head}, run.data[k]["x_test"], run.data[k]["y_test"]
            z = reference.outputs(w, other["global"], x, reference.direction(head))
            loss = cross_entropy_of_logits(z, y, np.full(len(y), 1 / len(y)))
            agree_scores("fedcp", moment, k, "test", loss, float(np.mean(z.argmax(1) == y)))


@pytest.mark.certifies("fedcp", "closed form")
def test_a_policy_of_zeros_halves_every_feature():
    found = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    w = {name: torch.zeros_like(value) for name, value in a_network(2).items()}
    assert policy(w, found, found[0]).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.certifies("fedcp", "closed form")
def test_a_policy_that_can_be_worked_out():
    """One feature: the numbers (3, −3) are normalised to (1, −1), the ReLU takes the −1 away, and
    r = e / (e + 1); the bias of the normalization adds 2 to the second: (1, 1).
    """
    w = {name: torch.zeros_like(value) for name, value in a_network(1).items()}
    w["policy:weight"] = torch.tensor([[3.0], [-3.0]], dtype=torch.float64)
    w["policy:norm.weight"] = torch.ones(2, dtype=torch.float64)
    one = torch.ones(1, dtype=torch.float64)
    assert float(policy(w, one[None], one)) == pytest.approx(np.e / (np.e + 1), abs=1e-6)
    w["policy:norm.bias"] = torch.tensor([0.0, 2.0], dtype=torch.float64)
    assert float(policy(w, one[None], one)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.certifies("fedcp", "closed form")
def test_the_discrepancy_of_known_samples():
    """Rows at 0 and at 2, alike at weights ½, ½; one row beside another: 2 Σ (1 − e^{−d²/2σ})."""
    rows = torch.tensor([[0.0], [2.0]], dtype=torch.float64)
    half = torch.tensor([0.5, 0.5], dtype=torch.float64)
    assert float(discrepancy(rows, rows.flip(0), half)) == pytest.approx(0.0, abs=1e-12)
    alone = discrepancy(rows[:1], rows[1:], torch.ones(1, dtype=torch.float64))
    assert float(alone) == pytest.approx(2 * sum(1 - np.exp(-4 / (2 * s)) for s in WIDTHS))
    padded = torch.tensor([1.0, 0.0], dtype=torch.float64)
    other = torch.tensor([[0.0], [-7.0]], dtype=torch.float64)
    assert float(discrepancy(rows, other, padded)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.certifies("fedcp", "closed form")
def test_the_direction_of_a_head():
    """Rows (1, 2) and (2, 2): 3/5 and 4/5; rows that add up to nothing have none."""
    head = architecture("dnn").head
    weight = torch.tensor([[1.0, 2.0], [2.0, 2.0]])
    torch.testing.assert_close(
        direction({"out.weight": weight, "out.bias": torch.ones(2)}, head), torch.tensor([0.6, 0.8])
    )
    nothing = {"out.weight": torch.tensor([[1.0], [-1.0]]), "out.bias": torch.ones(2)}
    assert direction(nothing, head).tolist() == [0.0]


@pytest.mark.certifies("fedcp", "law")
def test_half_of_the_personal_head_is_sent():
    """(φ_i + φ)/2, so that who knows φ knows φ_i: said in docs/security.md."""
    run = Federated(fedcp(lr=LR), population(), {"dnn": architecture("dnn")}, epochs=1).run(2)
    for moment in run.moments:
        for k, up in moment.up.items():
            for name, value in moment.own[k]["head"].items():
                known = 2 * up["parameters"][name] - moment.down[k]["parameters"][name]
                np.testing.assert_allclose(known, value, atol=1e-12)


def test_plain_descent_of_cross_entropy_moves_no_direction():
    """Slopes by the scores add up to 0 over classes, so that the sum of a head's rows stays."""
    model = architecture("dnn")
    run = Federated(fedcp(lr=LR), population(), {"dnn": model}, epochs=2).run(3)
    for k, own in run.moments[-1].own.items():
        head = {name: torch.from_numpy(value) for name, value in own["head"].items()}
        assert not torch.allclose(head["out.weight"], model.initial["out.weight"], atol=1e-2), k
        torch.testing.assert_close(
            direction(head, model.head), direction(model.initial, model.head), atol=1e-12, rtol=0
        )


def test_the_personal_view_looks_in_the_direction_of_the_personal_head():
    """As it matters with weight decay, or another loss."""
    model = architecture("dnn")
    run = Federated(fedcp(lr=LR), population(), {"dnn": model}, epochs=1).setup()
    start = {name: model.initial[name] for name in model.head.names}
    mine = {name: value + torch.arange(value.shape[-1]) for name, value in start.items()}
    view = run.method.personal_models(run.coordinator.state, {"head": mine}, run.host.data(1, 0))[
        "personal"
    ]
    assert torch.equal(view["toward"], direction(mine, model.head))
    assert not torch.allclose(view["toward"], direction(model.initial, model.head))
    assert all(torch.equal(view["parameters"][name], mine[name]) for name in mine)


def test_a_head_that_is_not_linear_is_refused():
    model = architecture("dnn")
    model = model._replace(head=model.head._replace(linear=False))
    with pytest.raises(FedkinError, match="rows of a linear head: the head of dnn is none"):
        Federated(fedcp(lr=LR), population(), {"dnn": model})


def test_out_of_range():
    with pytest.raises(FedkinError, match=r"method\.lam of fedcp: input should be"):
        fedcp(lr=0.1, lam=-1.0)


def a_network(size):
    return network(size, torch.float64, torch.Generator().manual_seed(1))
