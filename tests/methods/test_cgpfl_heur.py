"""CGPFL-Heur: the number of clusters that trades generalization against training."""

import numpy as np
import pytest

from fedkin.methods.cgpfl_heur import cgpfl_heur, trade_off
from tests.methods.cgpfl_examples import (
    HYPER,
    ROUNDS,
    arguments,
    check_clients,
    check_servers,
    uploads,
)
from tests.methods.federation import (
    Federated,
    architecture,
    population,
)
from tests.reference import pfedme_cgpfl as reference
from tests.reference.kmeans import lloyd

GROUPS = {"sizes": (5, 9, 4, 11, 7, 6, 5, 8), "seed": 6, "groups": 3}


@pytest.mark.certifies("cgpfl_heur", "reference")
@pytest.mark.parametrize("kind", ["mlr", "dnn"])
@pytest.mark.parametrize(
    ("mu", "alpha", "participation", "weights"),
    [
        (0.0, 1.0, 1.0, None),
        (17.0, 1.0, 1.0, None),
        (17.0, 0.5, 0.8, None),
        (900.0, 0.5, 0.6, None),
        (17.0, 1.0, 1.0, "samples"),
    ],
)
def test_cgpfl_heur(kind, mu, alpha, participation, weights):
    model = architecture(kind)
    weighed = {"weights": weights} if weights else {}
    method = cgpfl_heur(**HYPER, **weighed, mu=mu, alpha=alpha)
    run = Federated(
        method, population(**GROUPS), {kind: model}, steps=3, participation=participation
    ).run(ROUNDS)
    points = [uploads(moment) for moment in run.moments]
    sizes = [run.infos[k].samples for k in run.moments[0].record.participants]
    chosen, _ = reference.choose_k(
        points[0], sizes, mu, lambda p, k: lloyd(p, run.seeds(1, p, k))[0]
    )
    assert all(moment.state["chosen"] == chosen for moment in run.moments)
    assert all(moment.record.server_metrics["clusters"] == {-1: chosen} for moment in run.moments)
    seeds = [run.seeds(t, p, chosen) for t, p in enumerate(points, 1)]
    theirs = reference.cgpfl(
        *arguments(run, model.initial),
        chosen,
        [list(range(chosen)), *seeds],
        alpha,
        squared=True,
        samples=weights == "samples",
    )[1:]
    check_clients("cgpfl_heur", run, theirs)
    check_servers("cgpfl_heur", run, theirs)


@pytest.mark.certifies("cgpfl_heur", "law")
@pytest.mark.parametrize(("mu", "chosen"), [(0.0, 1), (17.0, 3), (1e9, 4)])
def test_what_mu_chooses(mu, chosen):
    """μ = 0: clusters only cost, K = 1; a huge μ: K = ⌊N/2⌋; in between the three true groups."""
    run = Federated(cgpfl_heur(**HYPER, mu=mu), population(**GROUPS), steps=3).run(1)
    assert run.moments[0].state["chosen"] == chosen


@pytest.mark.certifies("cgpfl_heur", "closed form")
def test_trade_off_by_hand():
    # m = d: log(e) = 1, sqrt(d K / m) = sqrt(K): sqrt(4) + 2 · 0.5 = 3. m = e d: log(e²) = 2,
    # sqrt(2 K / e).
    assert trade_off(4, 10, 10, 2.0, 0.5) == pytest.approx(3.0)
    assert trade_off(2, np.e * 10, 10, 0.0, 7.0) == pytest.approx(np.sqrt(4 / np.e))
    # clamped: m = d / 100: log(e / 100) < 0 → 1: sqrt(100 K) = 10 for K = 1
    assert trade_off(1, 1, 100, 0.0, 0.0) == pytest.approx(10.0)
    for args in ((3, 57, 15, 4.0, 0.2), (2, 10, 400, 4.0, 0.2)):
        assert trade_off(*args) == pytest.approx(reference.trade_off(*args))
