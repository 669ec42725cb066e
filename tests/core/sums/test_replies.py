"""Replies as mappings, wherever their messages lie."""

import torch

from fedkin.core.sums.exact import ExactSum
from fedkin.core.sums.replies import DerivedReplies, RemoteReplies, Reply, uniform

REPLIES = {
    client: Reply({"parameters": torch.tensor([value]), "control": {"c": client}}, weight)
    for client, value, weight in ((9, 4.0, 3.0), (2, 1.0, 5.0), (10, -2.0, 1.0))
}


def summed(clients: object) -> ExactSum:
    total = ExactSum()
    for client in clients:  # type: ignore[attr-defined]
        total.add(REPLIES[client].message["parameters"], REPLIES[client].weight)
    return total


def test_sums_are_asked_for_those_who_are_left_or_named() -> None:
    away = RemoteReplies(REPLIES, summed)
    assert away.total().mean().tolist() == [torch.tensor(15 / 9).item()]
    assert away.without([2]).total().mean().tolist() == [2.5]
    assert away.total([10]).mean().tolist() == [-2.0]
    assert list(away.without([9])) == [2, 10]
    assert len(away) == 3
    assert away[2] is REPLIES[2]


def test_a_reply_is_made_when_it_is_asked_for() -> None:
    asked = []

    def halved(client: int) -> Reply:
        asked.append(client)
        return REPLIES[client]._replace(weight=REPLIES[client].weight / 2)

    made = DerivedReplies(REPLIES, halved)
    assert (list(made), len(made), asked) == ([9, 2, 10], 3, [])
    assert (made[2].weight, asked) == (2.5, [2])


def test_all_count_alike() -> None:
    assert [(client, one.weight) for client, one in uniform(REPLIES).items()] == [
        (9, 1.0),
        (2, 1.0),
        (10, 1.0),
    ]
    assert uniform(REPLIES)[10].message is REPLIES[10].message
