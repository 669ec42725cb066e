"""FedPAC beside tests/reference/fedpac.py."""

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.methods.fedpac import fedpac
from fedkin.methods.parts.alignment import best_mixture
from tests.methods.federation import (
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.methods.test_fedproto import table
from tests.reference import fedpac as reference
from tests.reference.model import accuracy, mean_loss

LR, ROUNDS = 0.3, 4
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}
HYPER = {"default": {}, "two passes": {"lam": 0.6, "head_epochs": 2, "personal_lr": 0.7}}


@pytest.mark.certifies("fedpac", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("hyper", HYPER.values(), ids=HYPER)
def test_fedpac(hyper, work):
    model = architecture("dnn")
    run = Federated(fedpac(lr=LR, **hyper), population(), {"dnn": model}, **work).run(ROUNDS)
    theirs = reference.fedpac(
        arrays(model.initial),
        run.data,
        run.plan(ROUNDS),
        run.plan(ROUNDS, purpose="head", epochs=hyper.get("head_epochs", 1)),
        run.participants(ROUNDS),
        run.rates(LR, ROUNDS),
        run.rates(hyper.get("personal_lr", LR), ROUNDS),
        hyper.get("lam", 1.0),
    )
    for moment, other in zip(run.moments, theirs, strict=True):
        agree("fedpac", moment.state["parameters"], other["body"])
        found = {name: moment.state[name] for name in ("centroids", "coefficients")}
        agree("fedpac", found, table(other["centroids"]))
        for k, head in other["heads"].items():
            agree("fedpac", moment.state["heads"][k] or moment.state["initial"], head)
            w, x, y = {**other["body"], **head}, run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("fedpac", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))
    shares = np.concatenate(list(theirs[-1]["alpha"].values()))
    assert ((shares > 0.01) & (shares < 0.99)).any()  # or nothing is mixed


def told(h, variance):
    tensor = torch.tensor(h, dtype=torch.float64)[None]
    spread = torch.tensor([variance], dtype=torch.float64)
    return {"centroids": {"reference": tensor}, "coefficients": {"variance": spread}}


@pytest.mark.certifies("fedpac", "reference")
@pytest.mark.parametrize("seed", range(4))
def test_mixtures_at_the_edge_of_the_simplex(seed):
    """Six clients, three numbers each: who is on the other side counts nothing."""
    rng = np.random.default_rng(seed)
    h, variances = 3.0 * rng.normal(size=(6, 3)), rng.uniform(0.01, 0.5, size=6)
    shares = []
    for place in range(6):
        found = best_mixture([told(row, v) for row, v in zip(h, variances, strict=True)], place)
        agree("fedpac", found, list(reference.mixture(list(h), variances, place)))
        shares += found
    assert min(shares) == 0.0


@pytest.mark.certifies("fedpac", "law")
def test_clients_that_are_alike_count_by_their_variances():
    """Equal h: α_j is proportional to 1/V_j."""
    found = best_mixture([told([1.0, 2.0], v) for v in (0.5, 0.25, 2.0)], 1)
    assert found == pytest.approx([2 / 6.5, 4 / 6.5, 0.5 / 6.5])


@pytest.mark.certifies("fedpac", "law")
def test_a_client_that_is_far_away_counts_nothing():
    """Between h_i = 0 and one at distance a on one axis: α of the other is V / (V + V' + a²)."""
    found = best_mixture([told([0.0, 0.0], 0.5), told([3.0, 0.0], 0.25)], 0)
    assert found[1] == pytest.approx(0.5 / (0.5 + 0.25 + 9.0))
    far = best_mixture([told([0.0, 0.0], 0.0), told([3.0, 0.0], 0.25)], 0)
    assert far == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("wrong", [{"lam": -1.0}, {"head_epochs": 0}, {"personal_lr": 0.0}])
def test_out_of_range(wrong):
    with pytest.raises(FedkinError, match="of fedpac: "):
        fedpac(lr=0.1, **wrong)
