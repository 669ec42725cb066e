"""Messages to clients: encoded once, counted for everybody."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.engine.method_calls.server_errors import FailedAtServer
from fedkin.engine.round.broadcasts import FEW, Broadcasts
from fedkin.engine.transports.parcels import pack
from tests.engine.coordinated import federation
from tests.engine.method_calls.test_server_errors import trained


def tasks(one, sent):
    return one._broadcasts.tasks(one.state, range(6), sent)


def test_a_broadcast_is_encoded_once_and_counted_for_each():
    one = federation(run__participation=1.0)
    record = one.round(1)
    down = [sent for sent in record.sent if sent.direction == "down"]
    up = [sent for sent in record.sent if sent.direction == "up"]
    assert [sent.copy for sent in down] == [0, 1, 1, 1, 1, 1]
    assert [sent.copy for sent in up] == [0] * 6
    size = 64 * 10 + 10
    assert {sent.scalars["parameters"] for sent in record.sent} == {size}
    assert all(4 * size < sent.bytes < 4 * size + 500 for sent in record.sent)
    assert all(sum(sent.scalars.values()) == size for sent in record.sent)
    orders, _ = tasks(one, [])
    assert len({id(order.message) for order in orders}) == 1
    header, blobs = pack(orders)
    assert len(blobs) == 1
    assert header == [(client, 0, None) for client in range(6)]


def test_clusters_are_broadcasts_of_their_own():
    one = federation("cgpfl", run__participation=1.0, run__seed=1)
    for number in (1, 2):
        record = one.round(number)
    cluster = one.round(3).server_metrics["cluster"]
    before = record.server_metrics["cluster"]
    firsts = {}
    for client in range(6):
        firsts.setdefault(before[client], client)
    sent: list = []
    tasks(one, sent)
    assert len({cluster[client] for client in range(6)}) == 2
    assert [item.copy for item in sent] == [
        int(client not in _firsts(cluster)) for client in range(6)
    ]


def _firsts(cluster):
    seen: dict[int, int] = {}
    for client in range(6):
        seen.setdefault(cluster[client], client)
    return set(seen.values())


def test_a_state_is_asked_about_twice_and_its_messages_are_made_once():
    made = []

    def broadcast(state, client):
        made.append(client)
        return {"parameters": state["models"][client % 2]}

    one = Broadcasts(broadcast)
    state = {"models": (torch.ones(3), torch.zeros(3))}
    first, second = [], []
    found, _ = one.tasks(state, [1, 2, 3], first)
    again, contents = one.tasks(state, [0, 1, 2, 3], second)
    assert made == [1, 2, 3, 0]
    assert again[1:] == found
    assert contents[3]["parameters"] is state["models"][1]
    assert [item.copy for item in first] == [0, 0, 1]
    assert [item.copy for item in second] == [0, 0, 1, 1]
    other, _ = one.tasks({"models": (torch.ones(3), torch.full((3,), 2.0))}, [1], [])
    assert decode(other[0].message)["parameters"].tolist() == [2.0] * 3


def test_tensors_of_one_memory_are_one_message():
    whole = torch.arange(6.0)
    views = [{"parameters": whole[:3]}, {"parameters": whole[:3]}, {"parameters": whole[3:]}]
    sent = []
    Broadcasts(lambda state, client: state[client]).tasks(views, range(3), sent)
    assert [item.copy for item in sent] == [0, 1, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0.0, -0.0),
        ((1.0, 2.0), {"0": 1.0, "1": 2.0}),
        ({"a": {"b": 1.0}}, {"a/b": 1.0}),
        ({"a": 1.0, "b": {}}, {"a": 1.0}),
        ({"a": 1.0, "b": {}}, {"a": 1.0, "b": ()}),
    ],
)
def test_messages_that_are_equal_in_python_and_not_on_the_wire_are_two(one, other):
    """Whoever gets the second of them is not sent the first one."""
    for contents in ((one, other, one), (other, one, other)):
        sent = []
        broadcast = lambda state, client, of=contents: {"parameters": of[client]}  # noqa: E731
        orders, _ = Broadcasts(broadcast).tasks({}, range(3), sent)
        for order, content in zip(orders, contents, strict=True):
            assert order.message == encode({"parameters": content})
        assert [item.copy for item in sent] == [0, 0, 1]


def test_messages_that_are_the_same_on_the_wire_are_one():
    sent = []
    contents = [{"parameters": 1}, {"parameters": True}, {"parameters": 2}]
    orders, told = Broadcasts(lambda _, client: contents[client]).tasks({}, range(3), sent)
    assert [item.copy for item in sent] == [0, 1, 0]
    assert orders[0].message == orders[1].message == encode({"parameters": True})
    assert told[1]["parameters"] is True


def test_a_model_a_client_is_not_kept():
    made = []

    def broadcast(state, client):
        made.append(client)
        return {"parameters": torch.full((2,), float(client))}

    one, state = Broadcasts(broadcast), {}
    for _ in range(2):
        one.tasks(state, range(FEW + 1), [])
    assert made == [*range(FEW + 1)] * 2


@pytest.mark.parametrize(
    ("update", "has"),
    [
        (lambda state, mean, server: {"params": mean.mean["parameters"]}, "has 'params'"),
        (lambda state, mean, server: None, r"has no entries \(it is a NoneType\)"),
    ],
)
def test_an_update_that_changes_the_states_entries_is_named(update, has):
    one = federation(run__participation=1.0)
    one.method = one.method._replace(server_update=update)
    says = f"state {has} after its update, and had 'parameters' before, .*server_update"
    with pytest.raises(FedkinError, match=says):
        one.round(1)


def test_the_round_of_such_an_update_is_told(tmp_path):
    with pytest.raises(FailedAtServer, match=r"^round 1: the server's state has 'params' after"):
        trained(tmp_path, server_update=lambda _, mean, __: {"params": mean.mean["parameters"]})


def test_what_fails_for_another_reason_is_not_told_of_the_states_entries(tmp_path):
    def broadcast(state, client):
        return {"parameters": state["parameters"]} if "seen" not in state else 1 / 0

    with pytest.raises(FailedAtServer, match=r"^round 1: method mine: broadcast fails: ZeroDiv"):
        trained(
            tmp_path, broadcast=broadcast, server_update=lambda state, *_: {**state, "seen": 1.0}
        )


def test_a_broadcast_that_never_worked_keeps_its_own_error():
    with pytest.raises(KeyError, match="params"):
        Broadcasts(lambda state, client: state["params"]).tasks({"parameters": 1.0}, [0], [])


def test_what_is_broadcast_is_a_message():
    with pytest.raises(FedkinError, match=r"'params': its top level must be among \['parameters'"):
        Broadcasts(lambda state, client: state).tasks({"params": 1.0}, [0], [])
