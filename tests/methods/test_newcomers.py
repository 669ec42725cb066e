"""What the server keeps of a newcomer: each method's ``newcomer_placements`` and
``update_newcomer`` beside the same written out, on states that no training made.

The states are awkward: who helps is not who gains, the one that helped most has no model yet, the
largest numbers stand in no order.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fedkin.core.aggregation import Reply
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key
from fedkin.engine.codec import encode
from fedkin.methods import make
from fedkin.methods.fedfomo import fedfomo
from fedkin.methods.kt_pfl import kt_pfl
from fedkin.methods.parts.affinity import laplacian_matrix
from fedkin.methods.parts.fedfomo.candidates import pick
from fedkin.methods.ppfl import MEMBERSHIP, ppfl
from tests.methods.pairs_matrix import matrix

NEW = 5  # the newcomer's number: clients are 0 to 4


def info(architecture: str = "mlr", client: int = NEW) -> ClientInfo:
    return ClientInfo(client, architecture, 9, torch.tensor([2.0, 0.0, 7.0]), 2, 3)


def server(round: int = 4, decay: float = 0.5) -> Any:
    return SimpleNamespace(key=Key(3, round), decay=decay)


def close(found: Tensor, expected: Any) -> None:
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype))


def models(count: int) -> tuple[dict[str, Tensor], ...]:
    return tuple({"w": torch.full((2,), 10.0 * k)} for k in range(count))


def pairs(square: Tensor) -> dict[str, Tensor]:
    """What of a matrix is not 0."""
    of, to = square.nonzero().T.contiguous()
    return {"of": of, "to": to, "value": square[of, to]}


def fomo_state() -> dict[str, Any]:
    """Of five clients, client 3 never trained, though its column is the largest of all."""
    affinity = torch.tensor(
        [
            [0.0, 0.2, -9.0, 8.0, 0.1],
            [3.0, 0.0, 0.5, 8.0, 0.1],
            [2.0, 0.3, 0.0, 8.0, 0.2],
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.1, 4.0, 8.0, 0.0],
        ]
    )
    return {
        "models": models(5),
        "trained": torch.tensor([True, True, True, False, True]),
        "affinity": pairs(affinity),
        "weights": pairs(torch.arange(25.0).view(5, 5) / 25),
        "candidates": tuple(torch.tensor(c) for c in ([1], [2, 0], [], [4], [0])),
    }


def test_a_newcomer_of_fedfomo_begins_with_those_who_helped() -> None:
    """Gains by 0, 1, 2 and 4: 6, 0.6, 4.5 and 0.4, what hurt not counted; 2 lost more than 0 did
    not gain. Those who gained most are 4, 1, 2.
    """
    state = fomo_state()
    before = encode(state)
    (placed,) = fedfomo(lr=0.1, candidates=3).newcomer_placements(state, NEW, info())
    assert encode(state) == before
    assert placed["candidates"][NEW].tolist() == [0, 2, 1]
    for old, new in zip(state["candidates"], placed["candidates"], strict=False):
        assert old.tolist() == new.tolist()
    assert placed["trained"].tolist() == [True, True, True, False, True, False]
    for name in ("affinity", "weights"):
        close(matrix(placed[name], 6)[:NEW, :NEW], matrix(state[name], 5))
        assert not matrix(placed[name], 6)[NEW].any()
        assert not matrix(placed[name], 6)[:, NEW].any()
    (faint,) = fedfomo(lr=0.1, candidates=3).newcomer_placements(
        {**state, "affinity": pairs(matrix(state["affinity"], 5).double() / 100)}, NEW, info()
    )
    assert faint["candidates"][NEW].tolist() == [0, 2, 1]
    sent = fedfomo(lr=0.1, candidates=3).broadcast(placed, NEW)["parameters"]
    assert [float(w["w"][0]) for w in sent["models"]] == [0, 20, 10]
    assert sent["like"]["w"].shape == (0, 2)


def test_a_newcomer_of_fedfomo_goes_on_with_what_it_gained() -> None:
    method = fedfomo(lr=0.1, candidates=2, epsilon=0.0)
    (state,) = method.newcomer_placements(fomo_state(), NEW, info())
    before = encode(state)
    gains = torch.tensor([-1.0, 3.0, 1.0])  # by models 0 and 2, and by its own
    reply = Reply({"parameters": models(1)[0], "coefficients": gains}, 9.0)
    after = method.update_newcomer(state, NEW, reply, server())
    assert encode(state) == before
    close(matrix(after["affinity"], 6)[NEW], [-1, 0, 3, 0, 0, 0])
    close(matrix(after["weights"], 6)[NEW], [0, 0, 0.75, 0, 0, 0.25])
    for name in ("affinity", "weights"):
        close(matrix(after[name], 6)[:NEW], matrix(state[name], 6)[:NEW])
    assert after["candidates"][NEW].tolist()[0] == 2
    assert after["candidates"][NEW].tolist()[1] in (1, 4)  # not 0, that hurt; never tried are equal
    assert after["candidates"][:NEW] == state["candidates"][:NEW]
    again = method.update_newcomer(
        {**after, "candidates": (*after["candidates"][:NEW], torch.tensor([2, 4]))},
        NEW,
        Reply({"parameters": models(1)[0], "coefficients": torch.tensor([0.5, 2.0, 0.0])}, 9.0),
        server(),
    )
    close(matrix(again["affinity"], 6)[NEW], [-1, 0, 3.5, 0, 2, 0])
    close(matrix(again["weights"], 6)[NEW], [0, 0, 0.2, 0, 0.8, 0])


def test_each_client_of_fedfomo_draws_its_own_candidates() -> None:
    """A newcomer too. With one stream for all, everybody draws the same place of its pool."""
    many = 40
    method = fedfomo(lr=0.1, candidates=1, epsilon=1.0)
    nobody = pairs(torch.zeros(many, many))
    state = {
        "models": models(many),
        "trained": torch.ones(many, dtype=torch.bool),
        "affinity": nobody,
        "weights": nobody,
        "candidates": (torch.zeros(0, dtype=torch.int64),) * many,
    }
    after = method.server_update(state, {}, server())
    assert len({int(chosen[0]) for chosen in after["candidates"]}) > 10
    (placed,) = method.newcomer_placements(state, many, info(client=many))
    assert placed["candidates"][many].tolist() == [0]  # of equals the first
    nothing = Reply({"parameters": models(1)[0], "coefficients": torch.zeros(2)}, 1.0)
    drawn = [
        int(method.update_newcomer(placed, many, nothing, server(at))["candidates"][many][0])
        for at in range(12)
    ]
    expected = [
        int(pick(np.zeros(many), np.arange(many), 1, 1.0, Key(3, at, many).numpy("pick"))[0])
        for at in range(12)
    ]
    assert drawn == expected
    assert len(set(drawn)) > 5


def test_a_newcomer_of_comet_begins_without_a_centroid() -> None:
    method = make("comet", {"clusters": 2}, {"lr": 0.1})
    state = {"centroids": torch.rand(2, 4, 3)}
    (placed,) = method.newcomer_placements(state, NEW, info())
    close(placed["centroids"], torch.full((1, 4, 3), 1 / 3))
    reply = Reply({"predictions": torch.rand(4, 3)}, 9.0)
    second = method.update_newcomer(placed, NEW, reply, server())
    assert second is state
    assert method.update_newcomer(second, NEW, reply, server()) is state


def on_the_simplex(row: np.ndarray) -> np.ndarray:
    """The nearest point, by halving: max(row − t, 0) sums to 1."""
    low, high = row.min() - 1, row.max()
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.maximum(row - t, 0).sum() > 1 else (low, t)
    return np.maximum(row - low, 0)


def team_state(rng: np.random.Generator) -> dict[str, Any]:
    """Clients 1 and 3 of five never sent predictions."""
    z = torch.from_numpy(rng.dirichlet([0.4] * 3, size=(5, 4)))
    known = torch.tensor([True, False, True, False, True])
    z[~known] = 0
    return {
        "knowledge": torch.from_numpy(rng.dirichlet([1.0] * 5, size=5)),
        "predictions": z,
        "known": known,
        "teams": torch.from_numpy(rng.dirichlet([0.4] * 3, size=(5, 4))),
    }


def test_a_newcomer_of_kt_pfl_weighs_those_who_told() -> None:
    """Its row of κ takes one gradient step of the loss as the paper prints it, by autograd."""
    rng = np.random.default_rng(1)
    hyper = {"kappa_lr": 0.4, "lam": 0.7, "rho": 0.2, "temperature": 3.0}
    method = kt_pfl(lr=0.1, **hyper)  # type: ignore[arg-type]
    state = team_state(rng)
    (placed,) = method.newcomer_placements(state, NEW, info())
    close(placed["knowledge"], torch.cat([state["knowledge"], torch.tensor([[1, 0, 1, 0, 1]]) / 3]))
    mean = state["predictions"][[0, 2, 4]].mean(0)
    close(placed["teams"], torch.cat([state["teams"], mean[None]]))
    own = torch.from_numpy(rng.dirichlet([0.4] * 3, size=4))
    before = encode(placed)
    after = method.update_newcomer(placed, NEW, Reply({"predictions": own}, 9.0), server())
    assert encode(placed) == before

    kappa = torch.full((3,), 1 / 3, dtype=torch.float64, requires_grad=True)
    z = state["predictions"][[0, 2, 4]]
    team = (kappa[:, None, None] * z).sum(0)
    loss = 0.7 * (team * (team / own).log()).sum(1).mean() + 0.2 * ((kappa - 1 / 3) ** 2).sum()
    (slope,) = torch.autograd.grad(loss, kappa)
    row = on_the_simplex((kappa - 0.4 * 0.5 * slope).detach().numpy())
    assert row.std() > 0.01
    close(after["knowledge"][NEW], [row[0], 0, row[1], 0, row[2]])
    close(after["teams"][NEW], (torch.from_numpy(row)[:, None, None] * z).sum(0))
    for name in ("knowledge", "teams"):
        close(after[name][:NEW], placed[name][:NEW])


def test_a_newcomer_of_kt_pfl_has_no_team_before_anybody_told() -> None:
    empty = {
        "knowledge": torch.full((5, 5), 0.2),
        "predictions": torch.zeros(5, 4, 3),
        "known": torch.zeros(5, dtype=torch.bool),
        "teams": torch.zeros(5, 0, 3),
    }
    (placed,) = kt_pfl(lr=0.1).newcomer_placements(empty, NEW, info())
    assert placed["teams"].shape == (6, 0, 3)
    assert not placed["knowledge"][NEW].any()


def test_a_newcomer_of_kt_pfl_may_meet_one_who_told() -> None:
    state = team_state(np.random.default_rng(4))
    state["known"] = torch.tensor([False, False, True, False, False])
    (placed,) = kt_pfl(lr=0.1).newcomer_placements(state, NEW, info())
    close(placed["knowledge"][NEW], [0, 0, 1, 0, 0])
    close(placed["teams"][NEW], state["predictions"][2])


def test_a_newcomer_of_fedamp_is_nobodys_neighbour() -> None:
    method = make("fedamp", {"alpha": 1.0, "sigma": 4.0}, {"lr": 0.1})
    initial, *others = ({"w": torch.tensor([float(k), 1.0])} for k in (0, 3, 1, 7))
    state = {
        "initial": initial,
        "models": tuple(others),
        "trained": torch.tensor([True, True, False]),
    }
    (placed,) = method.newcomer_placements(state, 3, info(client=3))
    assert placed["models"] == (*others, initial)
    assert placed["trained"].tolist() == [True, True, False, False]
    near = [np.exp(-9 / 4) / 4, np.exp(-1 / 4) / 4]  # of squared distances 9 and 1
    close(method.broadcast(placed, 3)["parameters"]["w"], [3 * near[0] + 1 * near[1], 1.0])
    reply = Reply({"parameters": {"w": torch.tensor([2.0, 1.0])}}, 9.0)
    after = method.update_newcomer(placed, 3, reply, server())
    assert after["models"] == (*others, reply.message["parameters"])
    assert after["trained"] is placed["trained"]


@pytest.mark.parametrize(
    ("graph", "drawn"),
    [("complete", 0.7 * 20 + 0.1 * (0 + 3 + 1)), ([[0, 1, 0], [1, 0, 2], [0, 2, 0]], 20.0)],
)
def test_a_newcomer_of_fedu_has_neighbours_in_a_complete_graph_only(
    graph: Any, drawn: float
) -> None:
    """It begins at the mean of all, of whom client 0 never trained, and is drawn by pull times the
    decay, a third for each.
    """
    method = make(
        "fedu", {"pull": 0.6 if graph == "complete" else 0.2, "graph": graph}, {"lr": 0.1}
    )
    initial, *trained = ({"w": torch.tensor([k, 1.0])} for k in (0.0, 3.0, 1.0))
    state = {"initial": initial, "models": ({}, *trained)}
    (placed,) = method.newcomer_placements(state, 3, info(client=3))
    assert placed["models"][:3] == state["models"]
    close(method.broadcast(placed, 3)["parameters"]["w"], [4 / 3, 1.0])
    reply = Reply({"parameters": {"w": torch.tensor([20.0, 1.0])}}, 9.0)
    after = method.update_newcomer(placed, 3, reply, server())
    close(after["models"][3]["w"], [drawn, 1.0])
    assert after["models"][:3] == state["models"]


def test_a_newcomer_of_ppfl_resembles_nobody() -> None:
    method = ppfl(lr=0.1, models=3, lam=50.0)
    unit = torch.tensor([[1.0, 0], [0.6, 0.8], [0, 1], [0.8, 0.6], [0, 1]], dtype=torch.float64)
    laplacian = {"degree": torch.tensor([3.0, 1, 4, 1, 5], dtype=torch.float64), "unit": unit}
    state = {
        "theta": {"w": torch.rand(3, 2)},
        "memberships": torch.from_numpy(np.random.default_rng(2).dirichlet([0.5] * 3, size=5)),
        "laplacian": laplacian,
        "sums": torch.full((2, 3), 9.0),
        "shares": torch.tensor([0.4, 0.1, 0.3, 0.05, 0.15], dtype=torch.float64),
        "block": 0,
    }
    (placed,) = method.newcomer_placements(state, NEW, info())
    close(placed["memberships"][NEW], [1 / 3] * 3)
    close(placed["memberships"][:NEW], state["memberships"])
    wider = laplacian_matrix(placed["laplacian"])
    close(wider[:NEW, :NEW], laplacian_matrix(laplacian))
    assert wider.shape == (6, 6)
    assert not wider[NEW].any()
    assert not wider[:, NEW].any()
    down = method.broadcast(placed, NEW)
    assert not down["coefficients"]["pull"].any()
    assert down["control"] == {"block": MEMBERSHIP, "share": pytest.approx(0.2)}
    reply = Reply({"coefficients": torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)}, 9.0)
    after = method.update_newcomer(placed, NEW, reply, server())
    close(after["memberships"][NEW], [0.5, 0.2, 0.3])
    close(after["memberships"][:NEW], state["memberships"])
    close(placed["memberships"][NEW], [1 / 3] * 3)
    assert after["theta"] is state["theta"]


@pytest.mark.parametrize(
    ("name", "models"),
    [("cgpfl", "models"), ("cgpfl_heur", "models"), ("clustered_fl", "parameters")],
)
def test_a_newcomer_is_tried_in_every_cluster(name: str, models: str) -> None:
    hyper = {"clusters": 3} if name == "cgpfl" else {}
    method = make(name, hyper, {"lr": 0.1})
    state = {models: {"w": torch.arange(6.0).view(3, 2)}, "cluster": torch.tensor([2, 0, 1, 1, 0])}
    placed = method.newcomer_placements(state, NEW, info())
    assert [one["cluster"].tolist() for one in placed] == [[2, 0, 1, 1, 0, k] for k in range(3)]
    told = [method.broadcast(one, NEW)["parameters"]["w"].tolist() for one in placed]
    assert told == [[0, 1], [2, 3], [4, 5]]


def test_a_newcomer_of_feddf_has_the_model_of_its_architecture() -> None:
    method = make("feddf", {}, {"lr": 0.1})
    by_name = {
        "mlr": {"w": torch.ones(2)},
        "cnn": {"v": torch.zeros(3)},
        "dnn": {"u": torch.ones(4)},
    }
    state = {"parameters": by_name, "kind": torch.tensor([2, 2, 0, 1, 0])}  # cnn, dnn, mlr
    for name in by_name:
        (placed,) = method.newcomer_placements(state, NEW, info(name))
        assert placed["kind"].tolist()[:NEW] == [2, 2, 0, 1, 0]
        assert method.broadcast(placed, NEW)["parameters"] is by_name[name]


def test_a_newcomer_of_persfl_may_have_an_earlier_teacher() -> None:
    method = make("persfl", {"kept": 2}, {"lr": 0.1})
    last, early, middle = ({"w": torch.full((2,), float(k))} for k in (9, 2, 4))
    state = {"parameters": last, "earlier": {"2": early, "4": middle}}
    placed = method.newcomer_placements(state, NEW, info())
    assert [one["parameters"] for one in placed] == [last, early, middle]
    told = [method.broadcast(one, NEW).get("control") for one in placed]
    assert told == [None, {"round": 2}, {"round": 4}]
    for one in placed:
        down = method.broadcast(one, NEW)
        assert method.expected_update(down, info()) == {"parameters": one["parameters"]}
    (alone,) = method.newcomer_placements({"parameters": last}, NEW, info())
    assert alone == {"parameters": last}


def test_coins_of_l2sgd_are_tossed_on() -> None:
    method = make("l2sgd", {"p": 0.4}, {"lr": 0.1})
    state = {"parameters": {"w": torch.ones(2)}, "pulls": 77, "steps": 99}
    reply = Reply({"parameters": {"w": torch.zeros(2)}}, 9.0)
    tossed = []
    for at in range(1, 9):
        after = method.update_newcomer(state, NEW, reply, server(at))
        rng = Key(3, at).numpy("coins")
        expected = int(rng.geometric(0.6)), int(rng.geometric(0.4))
        assert (after["pulls"], after["steps"]) == expected
        assert after["parameters"] is state["parameters"]
        tossed.append(expected)
    assert len(set(tossed)) > 2
