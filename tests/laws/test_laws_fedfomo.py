"""FedFomo: what is sent, and what its weights make of good, bad and equal models."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.tree import map_tree, named_leaves
from tests.laws.small import close, federated, method, people, same
from tests.laws.test_closed_forms import federated as quadratic
from tests.laws.test_closed_forms import first, quadratics
from tests.methods.federation import CLASSES, WIDTH, arrays
from tests.methods.pairs_matrix import matrix
from tests.reference.local_fedavg import train

W = WIDTH * CLASSES + CLASSES


@pytest.mark.certifies("fedfomo", "messages")
@pytest.mark.parametrize("candidates", [5, 3, 1])  # the first is the default
def test_what_is_sent(candidates, record_property):
    """Round 1 sends no model down, the others n·|w| to each client; up |w| and n + 1 gains, the own
    one last. Round 1's message is the same for all: one copy; later ones differ wherever the
    candidates do.
    """
    n = candidates
    run = federated("fedfomo", hyper={"candidates": candidates}).run(3, evaluate=False)
    for t, moment in enumerate(run.moments, 1):
        down = [item for item in moment.record.sent if item.direction == "down"]
        up = [item for item in moment.record.sent if item.direction == "up"]
        here = n + 1 if t > 1 else 1
        for item in down:
            assert {kind: x for kind, x in item.scalars.items() if x} == (
                {"parameters": n * W} if t > 1 else {}
            )
        for item in up:
            found = {kind: x for kind, x in item.scalars.items() if x}
            assert found == {"parameters": W, "coefficients": here}
        sent = [[()] * 6, *(m.state["candidates"] for m in run.moments)][t - 1]
        copies = sum(item.copy == 0 for item in down)
        assert copies == len({tuple(chosen) for chosen in sent})
    sizes = {
        "down": {"parameters": n * W},
        "up": {"parameters": W, "coefficients": n + 1},
        "setup": {},
        "first": {},
    }
    hyper = {} if n == method("fedfomo").hyper["candidates"] else {"candidates": n}
    record_property("sent", {**sizes, "copies": copies, "hyper": hyper})


@pytest.mark.certifies("fedfomo", "messages")
def test_a_message_down_copies_no_model():
    run = federated("fedfomo", hyper={"candidates": 3}).run(2, evaluate=False)
    state = run.coordinator.state
    for k in run.infos:
        sent = run.method.broadcast(state, k)["parameters"]["models"]
        for model, j in zip(sent, state["candidates"][k].tolist(), strict=True):
            assert all(leaf is state["models"][j][name] for name, leaf in model.items())


@pytest.mark.certifies("fedfomo", "law")
@pytest.mark.parametrize("participation", [0.34, 0.7])
def test_what_is_expected_is_what_comes(participation):
    """Fewer than n candidates, none at all, in any round: no reply is refused (Federated asserts
    it).
    """
    run = federated("fedfomo", hyper={"candidates": 4}, participation=participation).run(
        5, evaluate=False
    )
    counts = {
        len(down["parameters"]["models"]) for moment in run.moments for down in moment.down.values()
    }
    assert {0, 4} <= counts
    for moment in run.moments:
        for k, down in moment.down.items():
            expected = run.method.expected_update(tensors(down), run.infos[k])
            got = dict(named_leaves(moment.up[k]))
            assert {path: tuple(leaf.shape) for path, leaf in named_leaves(expected)} == {
                path: leaf.shape for path, leaf in got.items()
            }


def tensors(tree):
    return map_tree(torch.from_numpy, tree)


@pytest.mark.certifies("fedfomo", "law")
def test_where_no_other_model_gains_it_is_local_training():
    """Everybody is sent models far worse than its own: local training, where the own training
    gained; where that did not gain either the client is back where it had started it.
    """
    run, local = (
        federated(name, hyper={"lr": 1.5}).run(1, evaluate=False) for name in ("fedfomo", "local")
    )
    assert same(
        trained(run.moments[0]), trained(local.moments[0])
    )  # round 1: nobody is a candidate yet
    alone, stuck = set(run.infos), 0
    for _ in range(2):
        state, before = run.coordinator.state, run.moments[-1].own
        spoiled = tuple(
            {name: -40.0 * leaf for name, leaf in model.items()} for model in state["models"]
        )
        run.coordinator.state = {**state, "models": spoiled}
        moment, other = (
            run.run(1, evaluate=False).moments[-1],
            local.run(1, evaluate=False).moments[-1],
        )
        for k, up in moment.up.items():
            *others, own = up["coefficients"].tolist()
            assert max(others) < 0
            if own > 0:
                close(moment.own[k]["before"], before[k]["parameters"])
            else:
                stuck += 1
                alone.discard(k)
                assert same(moment.own[k]["before"], before[k]["before"])
        for k in alone:
            close(trained(moment)[k], trained(other)[k])
    assert stuck
    assert alone


def trained(moment):
    return {k: own["parameters"] for k, own in moment.own.items()}


@pytest.mark.certifies("fedfomo", "law")
def test_the_only_model_that_gains_is_taken_whole():
    """One candidate with a gain has weight 1: the client starts from θ_j. (Here no own model
    gains.)
    """
    run = federated("fedfomo", hyper={"candidates": 1}, group=people(groups=1)).run(
        3, evaluate=False
    )
    taken = 0
    for moment in run.moments[1:]:
        for k, down in moment.down.items():
            other, own = moment.up[k]["coefficients"]
            if other > 0 >= own:
                taken += 1
                start = down["parameters"]["models"][0]
                trained = train(start, run.data[k], run.batches(moment.record.round, k), 0.2)
                for name, value in trained.items():
                    np.testing.assert_allclose(moment.own[k]["parameters"][name], value, atol=1e-12)
    assert taken


@pytest.mark.certifies("fedfomo", "law")
def test_equal_models_have_no_weight():
    """‖θ_j − θ̄_i‖ = 0: a gain of 0, not NaN; the client's own model is the only one
    that may gain.
    """
    run = federated("fedfomo").run(1, evaluate=False)
    own = run.host.personal_state(2)["before"]
    state = run.coordinator.state
    run.coordinator.state = {**state, "models": (own,) * 6}
    moment = run.run(1, evaluate=False).moments[-1]
    assert (moment.up[2]["coefficients"][:-1] == 0).all()
    assert moment.up[2]["coefficients"][-1] != 0
    assert (np.delete(matrix(moment.state["weights"], 6)[2].numpy(), 2) == 0).all()


@pytest.mark.certifies("fedfomo", "law")
def test_another_clients_model_that_fails_gains_nothing():
    """The loss of a model that overflows here is no number. Its gain is 0; the client is not lost
    by it, and weighs the others as without it.
    """
    run = federated("fedfomo").run(1, evaluate=False)
    state = run.coordinator.state
    first, *others = state["models"]
    broken = map_tree(lambda leaf: torch.full_like(leaf, 1e308), first)
    run.coordinator.state = {**state, "models": (broken, *others)}
    moment = run.run(1, evaluate=False).moments[-1]
    assert set(moment.up) == set(run.infos)
    sent = {k: state["candidates"][k].tolist() for k in moment.up}
    tried = [k for k in moment.up if 0 in sent[k]]
    assert tried
    for k in tried:
        found = dict(zip(sent[k], moment.up[k]["coefficients"].tolist(), strict=False))
        assert found.pop(0) == 0
        assert all(gain != 0 for gain in found.values())


@pytest.mark.certifies("fedfomo", "law")
@pytest.mark.parametrize("broken", [{"before"}, {"before", "parameters"}])
def test_a_client_whose_own_model_fails_takes_one_that_works(broken):
    """Its own loss is no number, so no difference to it is: every candidate whose loss is one
    gains, all alike.
    """
    run = federated("fedfomo").run(1, evaluate=False)
    state, own = run.coordinator.state, run.host.personal_state(2)
    bad = map_tree(lambda leaf: torch.full_like(leaf, 1e308), own["before"])
    run.host.store.put(2, {**own, **dict.fromkeys(broken, bad)})
    moment = run.run(1, evaluate=False).moments[-1]
    told = moment.up[2]["coefficients"].tolist()
    assert told == [1.0] * len(state["candidates"][2]) + [float("parameters" not in broken)]
    assert all(np.isfinite(leaf).all() for leaf in moment.up[2]["parameters"].values())
    assert abs(moment.own[2]["before"]["weight"]).max() < 100


@pytest.mark.certifies("fedfomo", "closed form")
def test_gains_of_quadratics():
    """L_i is the exact quadratic of the validation data: gain = (L_i(θ̄_i) − L_i(θ_j)) / ‖θ_j −
    θ̄_i‖, by hand.
    """
    run = quadratic("fedfomo", lr=0.1, candidates=3, steps=2).run(2)
    ends = {k: run.moments[0].own[k]["parameters"]["weight"][0] for k in run.infos}
    for k, up in run.moments[1].up.items():
        x, y = run.data[k]["x_val"], run.data[k]["y_val"]

        def loss(w, x=x, y=y):
            return 0.5 * np.mean((x @ w - y) ** 2)

        tried = [*run.moments[0].state["candidates"][k].tolist(), k]
        before = run.moments[0].own[k]["before"]["weight"][0]
        gains = [(loss(before) - loss(ends[j])) / np.linalg.norm(ends[j] - before) for j in tried]
        np.testing.assert_allclose(up["coefficients"], gains, rtol=1e-9)
        shares = np.maximum(gains, 0) / max(np.maximum(gains, 0).sum(), 1e-300)
        mixed = before + sum(s * (ends[j] - before) for s, j in zip(shares, tried, strict=True))
        A, b = quadratics(run)[k]
        for _ in range(2):
            mixed = mixed - 0.1 * A.T @ (A @ mixed - b)
        np.testing.assert_allclose(
            run.moments[1].own[k]["parameters"]["weight"][0], mixed, rtol=1e-9
        )
    assert not np.allclose(ends[0], first(run))


@pytest.mark.certifies("fedfomo", "law")
def test_gains_come_from_validation_data():
    """Other test samples change nothing; other validation samples change the gains."""
    group = people()
    ends = {}
    for split in ("none", "test", "val"):
        y = group.y.clone()
        for k in range(group.clients):
            rows = group.rows(split)[k] if split != "none" else []
            y[rows] = (y[rows] + 1) % group.classes
        run = federated("fedfomo", group=replace(group, y=y)).run(3, evaluate=False)
        ends[split] = arrays(run.coordinator.state)
    assert same(ends["none"], ends["test"])
    affinity = {split: matrix(state["affinity"], group.clients) for split, state in ends.items()}
    assert (affinity["none"] - affinity["val"]).abs().max() > 1e-3


def test_exploration_is_the_default():
    assert 0 < method("fedfomo").hyper["epsilon"] < 1


@pytest.mark.certifies("fedfomo", "law")
def test_merge_leaves_the_old_state_as_it_was():
    run = federated("fedfomo").run(2, evaluate=False)
    state = run.coordinator.state
    before = arrays(state)
    run.run(1, evaluate=False)
    assert same(arrays(state), before)
