"""A server's update that some replies break: they are left out, the old state stays until the new
one is well.
"""

import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.tree import weighted_mean
from fedkin.engine.method_calls.server_errors import with_server_errors
from fedkin.engine.server_guard import MOST_TRIES, UNTRIED, NotFinite, Without, guarded
from fedkin.methods import make
from tests.engine.coordinated import Meddling, federation, with_message
from tests.engine.small import small

OLD = {"w": torch.tensor([1.0, -2.0])}
SIZES = {9: 7.0, 2: 3.0, 5: 1.0, 4: 8.0, 0: 2.0}


def replies(**values: float) -> dict[int, Reply]:
    """Clients 0, 2, 4, 5, 9, of whom some send another value than their number."""
    found = {client: float(client) for client in sorted(SIZES)} | {
        int(k[1:]): v for k, v in values.items()
    }
    return {
        client: Reply({"w": torch.full((2,), value)}, SIZES[client])
        for client, value in found.items()
    }


def mean(usable):
    if any(reply.message["w"][0] < 0 for reply in usable.values()):
        raise IndexError("index -1 is out of range")
    new = weighted_mean(
        (reply.message for reply in usable.values()), (reply.weight for reply in usable.values())
    )
    return {"w": torch.where(new["w"] > 1e6, float("inf"), new["w"])}


@pytest.mark.parametrize("culprit", sorted(SIZES))
@pytest.mark.parametrize(
    ("value", "reason"),
    [(-1.0, "IndexError: index -1"), (1e9, "NaN or infinity in the server's w")],
)
def test_who_breaks_the_update_is_found(culprit, value, reason):
    good = {client: reply for client, reply in replies().items() if client != culprit}
    found = guarded(mean, OLD, replies(**{f"c{culprit}": value}), 1)
    assert list(found.left_out) == [culprit]
    assert reason in found.left_out[culprit]
    assert found.state["w"].equal(mean(good)["w"])


def test_the_reason_names_the_line_of_whose_method_says_it():
    method = make("fedavg", {}, {"lr": 0.1})._replace(server_update=lambda _, sent, __: mean(sent))
    update = with_server_errors(method).server_update
    found = guarded(lambda usable: update(OLD, usable, None), OLD, replies(c5=-1.0), 1)
    line = mean.__code__.co_firstlineno + 2
    assert found.left_out[5].endswith(f"out of range (test_server_guard.py, line {line}))")


def test_nobody_is_left_out_of_an_update_that_works():
    found = guarded(mean, OLD, replies(), 1)
    assert not found.left_out
    assert found.state["w"].equal(mean(replies())["w"])


def test_several_who_break_it_are_left_out_where_that_leaves_enough():
    found = guarded(mean, OLD, replies(c0=-1.0, c2=-1.0), 1)
    assert {0, 2} <= set(found.left_out)
    with pytest.raises(IndexError):
        guarded(mean, OLD, replies(c0=-1.0), 5)


def counted(bad, least_replies=1):
    """An update that some break, and how often it was tried; its state says with whom it worked."""
    tries = []

    def update(usable):
        tries.append(list(usable))
        if len(usable) < least_replies or bad & set(usable):
            raise ValueError("boom")
        return {"w": torch.tensor([float(client) for client in usable])}

    return update, tries


def sent(clients):
    return {client: Reply({}, 1.0) for client in range(clients)}


@pytest.mark.parametrize("bad", [{0}, {7}, {0, 7}, {3, 4}, {0, 2, 4, 6}, {0, 1, 2, 3, 4, 5, 6}])
def test_those_who_break_it_are_found_wherever_they_stand(bad):
    update, _ = counted(bad)
    found = guarded(update, {"w": torch.zeros(1)}, sent(8), 1)
    assert set(found.left_out) == bad
    assert set(found.left_out.values()) == {
        "the server's update fails with its message (ValueError: boom)"
    }
    assert found.state["w"].tolist() == sorted(set(range(8)) - bad)


def test_only_the_set_that_is_found_has_to_be_large_enough():
    update, _ = counted({0, 7})
    assert set(guarded(update, {"w": torch.zeros(1)}, sent(8), 6).left_out) == {0, 7}
    with pytest.raises(ValueError, match="boom"):
        guarded(update, {"w": torch.zeros(1)}, sent(8), 7)


@pytest.mark.parametrize("bad", [{0}, {0, 2}, {5}])
def test_one_reply_that_is_too_few_for_the_method_is_no_culprit(bad):
    update, _ = counted(bad, least_replies=2)
    assert set(guarded(update, {"w": torch.zeros(1)}, sent(8), 1).left_out) == bad


def test_few_culprits_among_many_take_few_tries_and_many_take_no_more_than_the_bound():
    update, tries = counted({17, 600})
    assert set(guarded(update, {"w": torch.zeros(1)}, sent(1000), 1).left_out) == {17, 600}
    assert len(tries) < 45
    bad = set(range(0, 1000, 2))
    update, tries = counted(bad)
    found = guarded(update, {"w": torch.zeros(1)}, sent(1000), 1)
    assert len(tries) == 1 + MOST_TRIES
    assert set(found.left_out) > bad
    assert not bad & set(found.state["w"].tolist())
    assert found.left_out[999] == UNTRIED
    assert "ValueError: boom" in found.left_out[0]


def test_a_mistake_of_the_method_itself_is_told():
    with pytest.raises(ZeroDivisionError):
        guarded(lambda usable: 1 // 0, OLD, replies(), 1)
    with pytest.raises(NotFinite, match="server's w"):
        guarded(lambda usable: {"w": torch.tensor([float("nan")])}, OLD, replies(), 1)


def test_a_disk_that_is_full_is_nobodys_fault():
    tries = []

    def update(usable):
        tries.append(len(usable))
        raise Halted("no room")

    with pytest.raises(Halted):
        guarded(update, OLD, replies(), 1)
    assert tries == [5]


def test_what_was_not_finite_before_may_stay():
    old = {"best": float("inf"), "w": torch.ones(2)}
    guarded(lambda usable: {**old, "best": float("inf")}, old, replies(), 1)
    with pytest.raises(NotFinite, match="server's w"):
        guarded(lambda usable: {**old, "w": torch.tensor([1.0, float("inf")])}, old, replies(), 1)


def test_replies_without_some():
    rest = Without(replies(), {2, 9})
    assert list(rest) == [0, 4, 5]
    assert len(rest) == 3
    with pytest.raises(KeyError):
        rest[9]


@pytest.mark.parametrize("value", [10**9, -1, 2**53])
def test_a_cluster_that_there_is_not_ends_no_round(value):
    one = federation("ifca", run__participation=1.0)

    def numbered(message):
        return {
            k: {n: value if isinstance(x, int) else x for n, x in p.items()}
            for k, p in message.items()
        }

    one.transport = Meddling(one.transport, with_message(numbered))
    record = one.round(1)
    assert set(record.missing) <= {1, 4}
    assert all(sent.client not in record.missing for sent in record.sent if sent.direction == "up")


def test_a_method_says_what_its_introductions_look_like():
    from fedkin.setup.build import assemble, method_of

    spec = small("comet")
    with pytest.raises(FedkinError, match="comet has setup_message without expected_setup: "):
        assemble(spec, method_of(spec)._replace(expected_setup=None))
