"""pFedMe, CGPFL and CGPFL-Heur beside tests/reference/pfedme_cgpfl.py.

The reference starts a θ at the model that its client receives first; fedkin at the initial model,
which is what every client has before its first round. A round 0 without mini-batches, in which
everybody takes part, makes them the same.
"""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.methods.cgpfl import cgpfl
from fedkin.methods.cgpfl_heur import cgpfl_heur
from fedkin.methods.pfedme import pfedme
from tests.methods.cgpfl_examples import (
    HYPER,
    ROUNDS,
    WORK,
    arguments,
    check_clients,
    check_servers,
    people,
    uploads,
)
from tests.methods.federation import (
    Federated,
    architecture,
)
from tests.reference import pfedme_cgpfl as reference

START = {"persistent": {"persist": True}, "received": {"persist": False, "restart": "round"}}


@pytest.mark.certifies("cgpfl", "reference")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
@pytest.mark.parametrize(("kind", "alpha"), [("mlr", 1.0), ("mlr", 0.5), ("dnn", 0.5)])
@pytest.mark.parametrize(
    ("clusters", "start", "weights"),
    [
        (2, "persistent", None),
        (3, "persistent", None),
        (3, "received", None),
        (2, "persistent", "samples"),
    ],
)
def test_cgpfl(clusters, start, weights, alpha, kind, work):
    model = architecture(kind)
    weighed = {"weights": weights} if weights else {}
    method = cgpfl(**HYPER, **weighed, clusters=clusters, alpha=alpha, start=start)
    run = Federated(method, people(), {kind: model}, **work).run(ROUNDS)
    seeds = [run.seeds(t, uploads(m), clusters) for t, m in enumerate(run.moments, 1)]
    theirs = reference.cgpfl(
        *arguments(run, model.initial),
        clusters,
        [list(range(clusters)), *seeds],
        alpha,
        squared=True,
        samples=weights == "samples",
        **START[start],
    )[1:]
    check_clients("cgpfl", run, theirs)
    check_servers("cgpfl", run, theirs)


@pytest.mark.certifies("cgpfl", "reference")
def test_clusters_change_hands_in_the_comparison():
    """It means something: clients move between clusters after the first round, and
    models differ.
    """
    run = Federated(cgpfl(**HYPER, clusters=3, alpha=0.5), people(), steps=2).run(ROUNDS)
    stability = [moment.record.server_metrics["stability"][-1] for moment in run.moments[1:]]
    assert min(stability) < 1
    assert all(moment.record.server_metrics["distance"][-1] > 1e-3 for moment in run.moments)


# --- CGPFL-Heur


@pytest.mark.parametrize("method", [pfedme, cgpfl, cgpfl_heur])
def test_an_unknown_start(method):
    with pytest.raises(FedkinError, match=r"method\.start of \w+: .*'received', not 'recieved'"):
        method(lr=0.1, start="recieved")
