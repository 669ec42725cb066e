"""SCAFFOLD's c and FedDyn's h stay the mean of the clients', or the run is refused."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import experiment
from fedkin.methods.feddyn import feddyn
from fedkin.methods.scaffold import scaffold
from fedkin.setup.build import assemble
from tests.methods.federation import Federated, agree, population

METHODS = {
    "scaffold": (scaffold(lr=0.2), lambda state: state["parameters"]["control"], "control"),
    "feddyn": (feddyn(lr=0.3, alpha=0.4), lambda state: state["slope"], "slope"),
}
RECIPES = {"scaffold": scaffold, "feddyn": feddyn}
SETTINGS = {"data__name": "digits", "split__name": "dirichlet", "run__clients": 6}


def mean_stays(method, kept, key, *, participation, by_samples):
    run = Federated(method, population(), steps=3, participation=participation).run(6)
    counts = [run.infos[k].samples if by_samples else 1 for k in sorted(run.infos)]
    for moment in run.moments:
        for name, c in kept(moment.state).items():
            each = [moment.own[k][key][name] for k in sorted(run.infos)]
            agree(method.name, c, np.average(each, axis=0, weights=counts))


@pytest.mark.certifies("scaffold", "feddyn", "law")
@pytest.mark.parametrize("name", METHODS)
def test_unequal_clients_that_stay_away_leave_the_mean_of_all(name):
    method, kept, key = METHODS[name]
    mean_stays(method, kept, key, participation=0.6, by_samples=False)


@pytest.mark.certifies("scaffold", "feddyn", "law")
@pytest.mark.parametrize("name", METHODS)
def test_by_samples_it_is_the_mean_by_samples_of_all(name):
    _, kept, key = METHODS[name]
    method = RECIPES[name](lr=0.2, weights="samples")
    mean_stays(method, kept, key, participation=1.0, by_samples=True)


@pytest.mark.parametrize("name", METHODS)
def test_by_samples_clients_that_stay_away_are_refused(name):
    spec = experiment(
        method__name=name, method__weights="samples", run__participation=0.5, **SETTINGS
    )
    with pytest.raises(FedkinError, match=f"{name}: weights = 'samples' with 3 of 6 clients"):
        assemble(spec)


@pytest.mark.parametrize(("weights", "share"), [("samples", 1.0), ("uniform", 0.5)])
def test_the_others_are_taken(weights, share):
    assemble(
        experiment(
            method__name="scaffold",
            method__weights=weights,
            run__participation=share,
            **SETTINGS,
        )
    )
