"""Methods with several models at the server, beside their authors' code or others'."""

import numpy as np
import pytest
import torch

from fedkin.core.tree import flat, row, sub
from fedkin.methods.clustered_fl import clustered_fl
from fedkin.methods.ifca import ifca
from fedkin.methods.parts.bipartition import bipartition
from tests.golden.recorded import Replay, linear, perceptron


@pytest.mark.certifies("ifca", "golden")
@pytest.mark.parametrize("file", ["ifca_models", "ifca_models_equal"])
def test_ifca_models(verdict, file):
    v = verdict(file, "weights uniform")
    model, rounds, sizes = perceptron(), 3, v.trace.sizes
    steps = int(v.trace.array("steps"))
    whole = np.full((rounds, len(sizes), steps, max(sizes)), -1)
    for k, n in enumerate(sizes):
        whole[:, k, :, :n] = np.arange(n)
    method = ifca(lr=v.trace.number("lr"), clusters=2, weights="uniform")
    replay = Replay(method, v.trace, model, several=2, tables={"batches": whole})
    trained = v.trace.tree("local", model.initial, rounds, len(sizes))
    server = v.trace.tree("server", model.initial, rounds, 2)
    cluster = v.trace.array("cluster", rounds, len(sizes))
    for t in range(rounds):
        moment = replay.round(t)
        for k, up in moment.up.items():
            v.compare("trained models", up["parameters"], row(row(trained, t), k))
        assert moment.state["cluster"].tolist() == cluster[t].tolist()
        v.compare("server", moment.state["parameters"], row(server, t))
    v.agrees()


@pytest.mark.certifies("ifca", "golden")
def test_ifca_gradients(verdict):
    """Their mean squared error is twice our Gaussian loss, so our rate is twice theirs."""
    v = verdict("ifca_gradients")
    model, rounds, sizes = linear(1, bias=False, family="gaussian"), 4, v.trace.sizes
    whole = np.broadcast_to(np.arange(7), (rounds, len(sizes), 1, 7))
    method = ifca(lr=2 * v.trace.number("lr"), clusters=2, average="gradients")
    replay = Replay(method, v.trace, model, several=2, tables={"batches": whole})
    server = v.trace.tree("server", model.initial, rounds, 2)
    cluster = v.trace.array("cluster", rounds, len(sizes))
    for t in range(rounds):
        moment = replay.round(t)
        assert moment.state["cluster"].tolist() == cluster[t].tolist()
        v.compare("server", moment.state["parameters"], row(server, t))
    v.agrees()


@pytest.mark.certifies("clustered_fl", "golden")
@pytest.mark.parametrize("halves", ["means", "parent"])
@pytest.mark.parametrize(
    ("file", "figure"), [("clustered_fl_authors", 0.267), ("clustered_fl_fedem", 0.316)]
)
def test_clustered_fl(verdict, file, figure, halves):
    """Both split in round 4; theirs average within the halves at once."""
    v = verdict(file, f"halves {halves}")
    authors, rounds, clients = file == "clustered_fl_authors", 4, len(v.trace.sizes)
    rates = v.trace.array("lr", rounds).tolist() if authors else [v.trace.number("lr")] * rounds
    eps2, weights = v.trace.number("eps2"), "uniform" if authors else "samples"
    method = clustered_fl(
        lr=rates[0],
        eps1=v.trace.number("eps1"),
        eps2=eps2,
        gamma=0.01,
        unit="absolute",
        halves=halves,
        weights=weights,
    )
    decays = [rate / rates[0] for rate in rates]
    replay = Replay(method, v.trace, linear(), decays=decays)
    like = replay.model.initial
    trained = v.trace.tree("update" if authors else "local", like, rounds, clients)
    after = v.trace.tree("clients", like, rounds, clients)
    cluster = v.trace.array("cluster", rounds, clients)
    for t in range(rounds):
        moment = replay.round(t)
        for k, up in moment.up.items():
            sent = (
                sub(up["parameters"], moment.down[k]["parameters"]) if authors else up["parameters"]
            )
            v.compare("trained models", sent, row(row(trained, t), k))
            what = "models before the split" if t < rounds - 1 else "models of the halves"
            v.compare(what, method.broadcast(moment.state, k)["parameters"], row(row(after, t), k))
        if authors:
            norms = torch.from_numpy(v.trace.array("norms", rounds, clients, 2))[t]
            v.compare("norms", moment.state["update"].max().expand(clients), norms[:, 0])
            v.compare("norms", moment.state["mean_update"], norms[:, 1])
            similar = torch.from_numpy(v.trace.array("similarity", rounds, clients, clients))[t]
            v.compare("similarities", similarities(moment), similar)
        assert partition(moment.state["cluster"].tolist()) == partition(cluster[t].tolist())
    assert len(partition(cluster[-1].tolist())) == 2
    assert len(partition(cluster[-2].tolist())) == 1
    why = "theirs averages within the halves at once; the paper starts both at the parent's model"
    if authors:
        v.agrees("similarities", within=5e-12)  # they add 1e-12 under the fraction
    same = set(v.errors) - {"similarities", "models of the halves"}
    if halves == "means":
        v.agrees(*sorted(same), "models of the halves")
        return
    v.agrees(*sorted(same))
    v.deviates("models of the halves", why, figure)


def similarities(moment):
    """Cosines of what clients changed, whose halves Algorithm 2 looks for."""
    changes = [
        flat(sub(up["parameters"], moment.down[k]["parameters"])) for k, up in moment.up.items()
    ]
    unit = torch.nn.functional.normalize(torch.stack(changes), dim=1)
    return unit @ unit.T


def partition(labels):
    """Labels as a set of sets."""
    return {frozenset(np.flatnonzero(np.array(labels) == k).tolist()) for k in set(labels)}


@pytest.mark.certifies("clustered_fl", "golden")
def test_bipartition(verdict):
    """Complete linkage, theirs, is the bipartition of Algorithm 2 in half of the sets."""
    v = verdict("clustered_fl_partition")
    updates, half = (
        torch.from_numpy(v.trace.array("updates", 20, 6, 5)),
        v.trace.array("half", 20, 6),
    )
    same, ours_lower = 0, 0
    for rows, theirs in zip(updates, half, strict=True):
        found = bipartition(rows)
        if partition(found.first) == partition((theirs == theirs[0]).tolist()):
            same += 1
        else:
            ours_lower += found.cross < cross(rows, theirs)
    assert same + ours_lower == 20
    assert same == 10
    why = "theirs is complete linkage, which is not the least largest similarity across"
    v.differs_in("sets are cut otherwise than by Algorithm 2", why, 20 - same, 20)


def cross(rows, half):
    """The largest cosine similarity across."""
    unit = torch.nn.functional.normalize(rows, dim=1)
    apart = torch.from_numpy(half[:, None] != half)
    return float((unit @ unit.T)[apart].max())
