"""FedDyn beside tests/reference/feddyn.py."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.family import GAUSSIAN
from fedkin.methods.feddyn import feddyn
from tests.methods.federation import (
    WIDTH,
    Federated,
    agree,
    agree_scores,
    architecture,
    arrays,
    population,
)
from tests.reference import feddyn as reference
from tests.reference.model import accuracy, mean_loss

LR, ALPHA, ROUNDS = 0.3, 0.4, 5
WORK = {
    "all": {"epochs": 1},
    "some, decay": {"steps": 3, "participation": 0.6, "milestones": (2,), "decay": 0.5},
}


@pytest.mark.certifies("feddyn", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
def test_feddyn(kind, work):
    model = architecture(kind)
    run = Federated(feddyn(lr=LR, alpha=ALPHA), population(), {kind: model}, **work).run(ROUNDS)
    rates, who = run.rates(LR, ROUNDS), run.participants(ROUNDS)
    theirs = reference.feddyn(arrays(model.initial), run.data, run.plan(ROUNDS), who, rates, ALPHA)
    for moment, other in zip(run.moments, theirs, strict=True):
        w = other["model"]
        agree("feddyn", moment.state["parameters"], w)
        agree("feddyn", moment.state["slope"], other["h"])
        for k, g in other["slopes"].items():
            agree("feddyn", moment.own[k], {"slope": g})
            x, y = run.data[k]["x_test"], run.data[k]["y_test"]
            agree_scores("feddyn", moment, k, "test", mean_loss(w, x, y), accuracy(w, x, y))


@pytest.mark.certifies("feddyn", "law")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_the_servers_slope_is_the_mean_of_the_clients(work):
    run = Federated(feddyn(lr=LR, alpha=ALPHA), population(), **work).run(ROUNDS)
    for moment in run.moments:
        for name, h in moment.state["slope"].items():
            mean = np.mean([own["slope"][name] for own in moment.own.values()], axis=0)
            np.testing.assert_allclose(h, mean, atol=1e-14)


@pytest.mark.certifies("feddyn", "closed form")
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_local_work_and_clients_that_stay_away_leave_the_joint_optimum(participation):
    """Linear regression, many local steps: the server ends where the mean of the clients' losses is
    least, which FedAvg with such work does not.
    """
    people = population(family="gaussian", seed=3)
    model = {"glm": architecture("glm", family=GAUSSIAN)}
    work = {"steps": 30, "batch_size": 16, "participation": participation}
    run = Federated(feddyn(lr=0.2, alpha=0.5), people, model, **work)
    run.run(60, evaluate=False)
    hessian, slope = np.zeros((WIDTH, WIDTH)), np.zeros(WIDTH)
    for client in run.data.values():
        n = len(client["y"])
        hessian += client["x"].T @ client["x"] / n
        slope += client["x"].T @ client["y"] / n
    found = run.moments[-1].state["parameters"]["weight"][0]
    np.testing.assert_allclose(found, np.linalg.solve(hessian, slope), atol=1e-4)


def test_out_of_range():
    with pytest.raises(
        FedkinError, match=r"method\.alpha of feddyn: input should be greater than 0"
    ):
        feddyn(lr=0.1, alpha=0.0)
