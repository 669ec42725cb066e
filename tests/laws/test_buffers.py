"""[model] buffers: running statistics averaged, kept at home, or left out; the numbers by hand."""

import math
from collections import OrderedDict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Batch, from_module
from fedkin.core.tree import named_leaves
from fedkin.methods import make
from fedkin.models.head import with_head
from fedkin.models.without_statistics import without_statistics
from fedkin.transforms.local_batch_norm import filled, keep_batch_norm_local
from tests.laws.small import LR, NAMES, PUBLIC, close, method, same
from tests.methods.federation import CLASSES, WIDTH, Federated, arrays, population

SIZES = (4, 8)
SHIFT = {0: -2.0, 1: 5.0}  # added to every sample of a client: the means differ
MEAN, VAR = "buffer:norm.running_mean", "buffer:norm.running_var"
WEIGHTS = 2 * WIDTH + WIDTH * CLASSES + CLASSES


def network(momentum=0.1):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        layers = {
            "norm": nn.BatchNorm1d(WIDTH, momentum=momentum),
            "out": nn.Linear(WIDTH, CLASSES),
        }
        return nn.Sequential(OrderedDict(layers)).double()


def shifted(people):
    x = people.x.clone()
    for client in range(people.clients):
        rows = np.concatenate([people.rows(split)[client] for split in ("train", "val", "test")])
        x[rows] += SHIFT.get(client, float(client))
    return replace(people, x=x)


def federated(chosen, module=None, *, dropped=False, sizes=SIZES, public=0, **work):
    """A batch holds all of a client's samples and a round is one step, unless said otherwise."""
    module = module or network()
    model = from_module(
        "net", without_statistics(module) if dropped else module, keep_buffers=not dropped
    )
    model = with_head(model, module, torch.ones(2, WIDTH))
    people = shifted(population(sizes, public=public))
    draws = [
        model._replace(
            initial={
                n: v if "buffer:" in n else v * (1 + 0.1 * k) for n, v in model.initial.items()
            }
        )
        for k in range(8)
    ]
    work = {"batch_size": 16, "steps": 1, "draws": draws, **work}
    return Federated(chosen, people, {"net": model}, **work)


def after(run, client, rounds, momentum=0.1):
    """(mean, variance) after so many batches of all the client's samples, from (0, 1); the variance
    is unbiased.
    """
    x = run.data[client]["x"]
    kept = (1 - momentum) ** rounds
    return (1 - kept) * x.mean(0), kept + (1 - kept) * x.var(0, ddof=1)


def statistics(run, client):
    found = run.moments[-1].own[client]["statistics"]
    return found[f"parameters/{MEAN}"], found[f"parameters/{VAR}"]


def sent(run):
    """All running statistics in all messages."""
    messages = [m for moment in run.moments for m in [*moment.down.values(), *moment.up.values()]]
    messages += run.introductions.values()
    return [
        leaf for message in messages for path, leaf in named_leaves(message) if "buffer:" in path
    ]


def test_global_is_the_average_by_samples():
    run = federated(make("fedavg", {}, {"lr": LR})).run(1)
    expected = [
        sum(n * after(run, k, 1)[which] for k, n in enumerate(SIZES)) / sum(SIZES)
        for which in (0, 1)
    ]
    close([run.moments[0].state["parameters"][name] for name in (MEAN, VAR)], expected, 1e-12)
    assert all(
        item.scalars["parameters"] == WEIGHTS + 2 * WIDTH for item in run.moments[0].record.sent
    )


def test_local_is_each_its_own():
    """After every round the client's own mean and variance, untouched by the other's; the views
    have them.
    """
    run = federated(keep_batch_norm_local(make("fedavg", {}, {"lr": LR})))
    for rounds in (1, 2, 3):
        run.run(1)
        for k in (0, 1):
            close(list(statistics(run, k)), list(after(run, k, rounds)), 1e-12)
            view = arrays(run.coordinator.views(k, rounds)["personal"])
            close([view[MEAN], view[VAR]], list(after(run, k, rounds)), 1e-12)
    assert sent(run)
    assert all(leaf.size == 0 for leaf in sent(run))
    assert all(item.scalars["parameters"] == WEIGHTS for m in run.moments for item in m.record.sent)
    assert [item.copy for item in run.moments[0].record.sent if item.direction == "down"] == [
        0,
        1,
    ]  # still a broadcast


def test_local_statistics_of_an_absentee_stay():
    run = federated(
        keep_batch_norm_local(make("fedavg", {}, {"lr": LR})), sizes=(4, 8, 5), participation=0.34
    ).run(4, evaluate=False)
    for k in run.infos:
        rounds = sum(k in moment.record.participants for moment in run.moments)
        own = run.moments[-1].own[k]["statistics"]
        if rounds:
            close(list(statistics(run, k)), list(after(run, k, rounds)), 1e-12)
        else:
            assert own == {}


def test_weights_do_not_depend_on_where_statistics_are():
    """In training a batch is normalised by its own statistics: global and local send the same
    weights.
    """
    one, other = (
        federated(chosen).run(3)
        for chosen in (method("fedavg"), keep_batch_norm_local(method("fedavg")))
    )
    for a, b in zip(one.moments, other.moments, strict=True):
        for name, value in a.state["parameters"].items():
            assert "buffer:" in name or np.array_equal(value, b.state["parameters"][name])
    scores = [run.moments[-1].record.scores[0]["personal"]["test"][0] for run in (one, other)]
    assert scores[0] != scores[1]


def test_drop_has_none():
    """Every batch is normalised by itself, in evaluation too: (x − mean) / sqrt(var + ε), var
    biased.
    """
    run = federated(method("fedavg"), dropped=True).run(2)
    assert not sent(run)
    assert not any(
        "buffer:" in path for moment in run.moments for path, _ in named_leaves(moment.state)
    )
    assert all(item.scalars["parameters"] == WEIGHTS for m in run.moments for item in m.record.sent)
    w = arrays(run.coordinator.views(0, 2)["personal"])
    x = run.data[0]["x_test"]
    z = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * w["norm.weight"] + w["norm.bias"]
    expected = z @ w["out.weight"].T + w["out.bias"]
    model = run.models["net"]
    tensors = {name: torch.from_numpy(value) for name, value in w.items()}
    for outputs in (model.outputs, model.train_outputs):
        close(outputs(tensors, torch.from_numpy(x)).numpy(), expected, 1e-12)
    assert not model.pads


def test_drop_leaves_other_buffers_as_they_are():
    """A constant of a user's module is none of the parameters, and what training writes to it is
    forgotten.
    """

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network()
            self.register_buffer("calls", torch.ones(()))

        def forward(self, x):
            self.calls += 1
            return self.inner(x) * self.calls

    module = Counting()
    model = from_module("counting", without_statistics(module), keep_buffers=False)
    x = torch.ones(3, WIDTH, dtype=torch.float64)
    batch = Batch(x, torch.tensor([0, 1, 2]), torch.full((3,), 1 / 3, dtype=torch.float64))
    assert model.loss(model.initial, batch) == model.loss(model.initial, batch)
    assert module.calls == 1
    assert not any("buffer:" in name for name in model.initial)


# --- every method

FEDERATED = [name for name in NAMES if not method(name).needs.pooled]
AT_HOME = [name for name in FEDERATED if not method(name).needs.server_models]


def own_statistics(tree):
    return {path: leaf for path, leaf in named_leaves(tree) if "buffer:" in path}


@pytest.mark.parametrize("name", [name for name in FEDERATED if name not in AT_HOME])
def test_a_server_that_runs_models_is_refused(name):
    with pytest.raises(FedkinError, match=r"runs models at the server.*choose 'global' or 'drop'"):
        keep_batch_norm_local(method(name))


@pytest.mark.rotating
@pytest.mark.parametrize("name", AT_HOME)
def test_every_methods_statistics_stay_at_home(name):
    """With momentum 1 a step leaves the statistics of all the client's samples. Whatever the method
    mixes them with (cgpfl's ω moves a part of the way), they lie between the initial ones, (0, 1),
    and those: the client's own.
    """
    chosen = method(name)
    hyper = {"public": PUBLIC, "sizes": (4, 8, 5, 6, 7, 9)}
    run = federated(keep_batch_norm_local(chosen), network(momentum=1.0), **hyper)
    run.run(3)
    assert all(leaf.size == 0 for leaf in sent(run))
    for moment in run.moments:
        server = {path: leaf for path, leaf in named_leaves(moment.state) if "buffer:" in path}
        assert all(leaf.size == 0 for leaf in server.values())
    for k in run.moments[-1].record.participants:
        seen = own_statistics(run.moments[-1].own[k]["statistics"])
        for path, leaf in seen.items():
            x, leaf = run.data[k]["x"], np.atleast_2d(leaf)
            way, end = (
                (leaf, x.mean(0)) if path.endswith("mean") else (leaf - 1.0, x.var(0, ddof=1) - 1.0)
            )
            share = way @ end / (end @ end)
            assert (share > 0.5).all()
            close(way, share[:, None] * end)
        views = arrays(run.coordinator.views(k, 3))
        assert all(math.prod(np.shape(leaf)) > 0 for leaf in own_statistics(views).values())


@pytest.mark.parametrize(
    "name", ["fedavg", "cgpfl", "fedem", "ppfl", "partial_fl", "comet", "persfl"]
)
def test_without_statistics_nothing_changes(name):
    """A model without batch norm: the wrapped method computes and sends what the method does."""
    hyper = {"public": PUBLIC, "sizes": (4, 8, 5, 6)}
    chosen = method(name, **({"personal": "1."} if name == "partial_fl" else {}))
    module = nn.Sequential(nn.Linear(WIDTH, 3), nn.Linear(3, CLASSES)).double()
    plain, wrapped = (
        federated(each, module, **hyper).run(3) for each in (chosen, keep_batch_norm_local(chosen))
    )
    for a, b in zip(plain.moments, wrapped.moments, strict=True):
        assert same(a.state, b.state)
        assert same(a.up, b.up)
        assert all(same(own, b.own[k]["own"]) for k, own in a.own.items())
        assert a.record.scores == b.record.scores or name == "persfl"
        assert [item.scalars for item in a.record.sent] == [item.scalars for item in b.record.sent]


def test_a_stack_of_models_keeps_a_stack_of_statistics():
    """fedem sends K models: each keeps its own set, [K, C]; the message has [K, 0] in its place."""
    run = federated(keep_batch_norm_local(method("fedem"))).run(2)
    k = len(run.moments[-1].state["parameters"]["out.bias"])
    assert all(leaf.shape == (k, WIDTH) for leaf in statistics(run, 0))
    assert {leaf.shape for leaf in sent(run)} == {(k, 0)}


def test_whose_statistics_a_received_model_gets():
    """First those sent from the same place, then any of that name that fit, then the
    initial ones.
    """
    data = SimpleNamespace(model=from_module("net", network()))
    two, one = torch.tensor([[1.0] * WIDTH, [2.0] * WIDTH]), torch.full((WIDTH,), 7.0)
    empty, stack = torch.empty(0), torch.empty(2, 0)
    own = {"statistics": {f"a/{MEAN}": two, f"b/{MEAN}": one}}
    got = filled(
        {"a": {MEAN: stack}, "b": {MEAN: empty}, "c": {MEAN: stack, VAR: empty, "x": 3}}, own, data
    )
    close(arrays(got["a"][MEAN]), arrays(two))
    close(arrays(got["b"][MEAN]), arrays(one))
    close(arrays(got["c"][MEAN]), arrays(two))
    close(arrays(got["c"][VAR]), np.ones(WIDTH))
    assert got["c"]["x"] == 3
    alone = {"statistics": {f"b/{MEAN}": one}}
    close(arrays(filled({"a": {MEAN: stack}}, alone, data)["a"][MEAN]), np.full((2, WIDTH), 7.0))
    assert (
        arrays(filled({"a": {MEAN: stack}}, {"statistics": {}}, data)["a"][MEAN]).tolist()
        == [[0.0] * WIDTH] * 2
    )


def test_one_model_sent_back_gives_all_received_its_statistics():
    """ifca receives K models and sends one: the client has one set, and every candidate gets it."""
    run = federated(keep_batch_norm_local(method("ifca")), network(momentum=1.0)).run(2)
    assert statistics(run, 0)[0].shape == (WIDTH,)
    view = arrays(run.coordinator.views(0, 2)["personal"])
    close(view[MEAN], run.data[0]["x"].mean(0), 1e-12)


def test_personal_layers_statistics_are_the_methods_own():
    """fedper with the norm personal: its statistics are part of the personal state, and nothing of
    them is sent.
    """
    for chosen in (
        method("fedper", personal="norm."),
        keep_batch_norm_local(method("fedper", personal="norm.")),
    ):
        run = federated(chosen).run(2)
        own = run.moments[-1].own[1].get("own", run.moments[-1].own[1])["parameters"]
        close([own[MEAN], own[VAR]], list(after(run, 1, 2)), 1e-12)
        assert sent(run) == []
