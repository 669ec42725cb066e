"""pFedMe beside its authors' code."""

import pytest

from fedkin.core.optimizers import PLAIN, Optimizer
from fedkin.core.tree import row
from fedkin.methods.cgpfl import cgpfl
from fedkin.methods.pfedme import pfedme
from tests.golden.recorded import Replay, linear

ROUNDS = 3


def as_traced(v, start, weights="uniform"):
    """pfedme with the trace's numbers."""
    names = ("lr", "lam", "personal_lr", "beta")
    return pfedme(
        **{name: v.trace.number(name) for name in names},
        inner=int(v.trace.array("inner")),
        start=start,
        weights=weights,
    )


def replayed(v, method, optimizer=PLAIN):
    replay = Replay(method, v.trace, linear(), optimizer=optimizer)
    shipped = v.trace.name == "pfedme_shipped"
    assert v.trace.number("mu") == (0.001 if shipped else 0)
    assert bool(v.trace.array("uniform")) is not shipped
    like, clients = replay.model.initial, len(replay.infos)
    trained, theta = (v.trace.tree(name, like, ROUNDS, clients) for name in ("local", "theta"))
    server = v.trace.tree("server", like, ROUNDS)
    for t in range(ROUNDS):
        moment = replay.round(t)
        for k, up in moment.up.items():
            v.compare("local copies", up["parameters"], row(row(trained, t), k))
            v.compare("personal models", moment.own[k]["theta"], row(row(theta, t), k))
        v.compare("server", row(moment.state["models"], 0), row(server, t))


def figures(*each):
    return zip(("local copies", "personal models", "server"), each, strict=True)


@pytest.mark.certifies("pfedme", "golden")
def test_pfedme_that_restarts(verdict):
    v = verdict("pfedme_plain", "start received")
    replayed(v, as_traced(v, "received"))
    v.agrees()


@pytest.mark.certifies("cgpfl", "golden")
def test_cgpfl_with_one_cluster(verdict):
    """CGPFL with one cluster meets what pFedMe meets, k-means and all; more clusters have no
    trace.
    """
    v = verdict("pfedme_plain", "pFedMe's; clusters 1, start received")
    names = ("lr", "lam", "personal_lr")
    method = cgpfl(
        **{name: v.trace.number(name) for name in names},
        clusters=1,
        alpha=v.trace.number("beta"),
        inner=int(v.trace.array("inner")),
        start="received",
    )
    replayed(v, method)
    v.agrees()


@pytest.mark.certifies("pfedme", "golden")
def test_pfedme_that_persists(verdict):
    v = verdict("pfedme_plain", "start persistent")
    replayed(v, as_traced(v, "persistent"))
    for what, figure in figures(0.0146, 0.0154, 0.00424):
        v.deviates(what, "theirs starts θ at the received w in every round", figure)


@pytest.mark.certifies("pfedme", "golden")
def test_pfedme_with_their_decay_and_weights(verdict):
    """All that their code adds can be asked for: 0.001 θ is weight decay."""
    v = verdict("pfedme_shipped", "start received, weights samples, weight_decay 0.001")
    decay = Optimizer(weight_decay=v.trace.number("mu"))
    replayed(v, as_traced(v, "received", "samples"), decay)
    v.agrees()


@pytest.mark.certifies("pfedme", "golden")
def test_pfedme_as_shipped(verdict):
    v = verdict("pfedme_shipped", "start received")
    replayed(v, as_traced(v, "received"))
    why = "theirs adds 0.001 θ to the gradient and averages by samples"
    for what, figure in figures(0.00921, 0.00911, 0.0129):
        v.deviates(what, why, figure)
