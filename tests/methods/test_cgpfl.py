"""pFedMe, CGPFL and CGPFL-Heur beside tests/reference/pfedme_cgpfl.py.

The reference starts a θ at the model that its client receives first; fedkin at the initial model,
which is what every client has before its first round. A round 0 without mini-batches, in which
everybody takes part, makes them the same.
"""

from collections import Counter

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.clustering import Clusters
from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit
from fedkin.core.sums.replies import DerivedReplies
from fedkin.core.tree import weighted_mean
from fedkin.methods.cgpfl import cgpfl, regroup
from fedkin.methods.cgpfl import uploads as uploads_of
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


@pytest.mark.parametrize("weights", ["uniform", "samples"])
def test_the_means_of_all_clusters_are_taken_in_one_pass(weights):
    """Of a large round every message is read from disk when it is asked for. The bits are those of
    a ``weighted_mean`` of each cluster's members.
    """
    rng = torch.Generator().manual_seed(3)
    sent = {k: {"w": torch.randn(50, generator=rng)} for k in (0, 1, 2, 4, 6)}
    first = {"w": torch.zeros(50)}
    start = FederationInit({"mlr": first}, tuple(range(7)), 0, 3, lambda k: first)
    state = cgpfl(**HYPER, clusters=3).server(start)
    sizes = {k: 1.0 if weights == "uniform" else 3.0 + k for k in sent}
    labels = [2, 0, 2, 1, 0]
    read = Counter()

    def one(client):
        read[client] += 1
        return Reply({"parameters": sent[client]}, sizes[client])

    replies = DerivedReplies(dict.fromkeys(sent), one)
    points = uploads_of(DerivedReplies(sent, lambda k: Reply({"parameters": sent[k]}, 1.0)))
    centroids = torch.stack([points[torch.tensor(labels) == k].mean(0) for k in range(3)])
    found = Clusters(torch.tensor(labels), centroids, 0.0)
    after = regroup(state, replies, found, 1.0)
    assert read == Counter(sent.keys())
    for k in sent:
        own = int(after["cluster"][k])
        members = [j for j in sent if int(after["cluster"][j]) == own]
        assert len(members) == labels.count(labels[list(sent).index(k)])
        mean = weighted_mean([sent[j] for j in members], [sizes[j] for j in members])
        assert torch.equal(after["models"]["w"][own], mean["w"])


# --- CGPFL-Heur


@pytest.mark.parametrize("method", [pfedme, cgpfl, cgpfl_heur])
def test_an_unknown_start(method):
    with pytest.raises(FedkinError, match=r"method\.start of \w+: .*'received', not 'recieved'"):
        method(lr=0.1, start="recieved")
