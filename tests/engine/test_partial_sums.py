"""Messages that stay with their hosts: the same rounds to the bit, whoever sums them and in which
tree; and what the record says of it.
"""

from functools import cache

import pytest
import torch

from fedkin.core.sums.exact import ExactSum, unpacked
from fedkin.engine.codec import decode, encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.transports import processes
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.run import experiment, run
from fedkin.runs.database import read_only
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from tests.engine.small import FORKED, content, outcome, small

FULL = {"run__participation": 1.0}


class Several:
    """Hosts of a client or a few each; their partial sums go up a tree."""

    def __init__(self, parts, hosts, fan_in, folder):
        everyone = sorted(parts.infos)
        self.hosts = [
            InProcess(host_of(parts, everyone[k::hosts], folder / str(k), partial_sums=True))
            for k in range(hosts)
        ]
        self.fan_in = fan_in

    def host(self, client):
        return next(host for host in self.hosts if client in host.host.infos)

    def ask(self, op, round, orders):
        orders = list(orders)
        for host in self.hosts[::-1]:
            yield from host.ask(op, round, [o for o in orders if o.client in host.host.infos])

    def sums(self, clients):
        level = []
        for host in self.hosts:
            own = [client for client in clients if client in host.host.infos]
            level += host.sums(own) if own else []
        while len(level) > self.fan_in:
            level = [
                merged(level[first : first + self.fan_in])
                for first in range(0, len(level), self.fan_in)
            ]
        return level

    def digests(self, clients):
        return {client: self.host(client).digests([client])[client] for client in clients}


def merged(parts):
    total = ExactSum()
    for part in parts:
        total.merge(unpacked(decode(encode(part.packed()))))
    return total


def trained(method, transport_of, rounds=2, change=lambda method: method, **settings):
    """The coordinator after some rounds, and their records."""
    parts = assemble(small(method, **settings))
    parts = parts._replace(method=change(parts.method))
    one = Coordinator(parts.method, parts.federation, transport_of(parts))
    records = [one.setup(), *(one.round(1 + k) for k in range(rounds))]
    return one, records


def told(one, records):
    """All that must not depend on where sums are taken."""
    return one.fingerprint(), [record._replace(seconds={}, moved=None) for record in records]


def plain(parts):
    return InProcess(host_of(parts, sorted(parts.infos), None))


@cache
def expected(method):
    """What messages sent one by one come to."""
    return told(*trained(method, plain, **FULL))


@pytest.mark.rotating
@pytest.mark.parametrize("method", ["fedavg", "scaffold", "fedproto", "ppfl", "ifca", "hypcluster"])
@pytest.mark.parametrize(("hosts", "fan_in"), [(1, 2), (6, 2), (5, 3), (6, 8)])
def test_no_tree_changes_a_bit(method, hosts, fan_in, tmp_path):
    found = trained(method, lambda parts: Several(parts, hosts, fan_in, tmp_path), **FULL)
    assert told(*found) == expected(method)


def spoiling(method):
    """The method whose clients 1 and 4 send numbers that are far off."""

    def client_update(received, own, data):
        own, message = method.client_update(received, own, data)
        if data.info.client in (1, 4):
            message = {
                "parameters": {k: 1e6 * (1 + v.abs()) for k, v in message["parameters"].items()}
            }
        return own, message

    return method._replace(client_update=client_update)


def breaking(method):
    """The method whose update fails where client 4 is summed."""

    def server_update(state, sent, server):
        if 4 in sent.clients:
            raise ValueError("no")
        return method.server_update(state, sent, server)

    return method._replace(server_update=server_update)


@pytest.mark.parametrize(("change", "out"), [(spoiling, [1, 4]), (breaking, [4])])
def test_who_is_left_out_is_in_no_sum(change, out, tmp_path):
    where = {"change": change, **FULL}
    found = trained("fedavg", lambda parts: Several(parts, 3, 2, tmp_path), **where)
    assert [sorted(record.missing) for record in found[1]] == [[], out, out]
    assert told(*found) == told(*trained("fedavg", plain, **where))


def moved(folder):
    with read_only(folder) as database:
        return database.rows("SELECT messages, bytes FROM moved ORDER BY round")


def test_the_record_says_what_the_engine_moved(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", FORKED)
    digits = 650 * 2 * 8  # of 64 × 10 weights and 10 biases
    alone = run(small("fedavg", **FULL), tmp_path / "alone")
    assert moved(alone) == [(0, 0), (1, digits), (1, digits), (1, digits), (0, 0)]
    two = {"engine__name": "processes", "engine__workers": 2}
    both = run(small("ditto", **FULL, **two), tmp_path / "both")
    assert moved(both) == [(0, 0), *[(2, 2 * digits)] * 3, (0, 0)]
    assert outcome(both) == outcome(run(small("ditto", **FULL), tmp_path / "one"))


def test_of_groups_one_partial_sum_each_moves(tmp_path):
    """Six clients of IFCA: six messages say who chose what, and each group that somebody chose
    moves one sum, of 650 numbers in two digits.
    """
    one, records = trained("ifca", lambda parts: Several(parts, 1, 2, tmp_path), **FULL)
    groups = len(set(one.method.server_metrics(one.state)["cluster"].values()))
    choices = records[2].moved.bytes - groups * 650 * 2 * 8
    assert records[2].moved.messages == 6 + groups
    assert 0 < choices < 6 * 300
    up = [sent.bytes for sent in records[2].sent if sent.direction == "up"]
    assert sum(up) > 6 * 650 * 4  # the ledger has every client's model


def test_a_rule_gets_every_message(tmp_path):
    asked = {**content("fedavg", **FULL), "transforms": [{"name": "median"}]}
    done = run(experiment(asked), tmp_path / "run")
    with read_only(done) as database:
        (sent,) = database.rows(
            "SELECT sum(bytes) FROM messages WHERE round = 1 AND direction = 'up'"
        )
    assert moved(done)[1] == (6, sent[0])


@pytest.mark.parametrize("state", ["memory", "disk"])
def test_a_message_has_the_size_that_it_would_have(state, tmp_path):
    parts = assemble(small("fedavg", engine__state=state))
    held = host_of(parts, [0], tmp_path, partial_sums=True).partial_sums
    for tree in (
        {"parameters": {"w": torch.ones(3), "b": torch.ones(2, 5)}},
        {"parameters": {"w": torch.ones(3), "b": torch.ones(5, 2)}},
        {"parameters": {"w": torch.ones(3), "b": torch.ones(500)}, "control": {"c": 1}},
        {"parameters": {"w": torch.ones(3), "b": torch.ones(2, 5).double()}},
    ):
        rest, size = held.put(0, tree, 4.0)
        assert size.bytes == len(encode(tree))
        assert (rest is None) == ("control" not in tree)
    assert held.sum([0]).weight == 4.0
    held.clear()
    with pytest.raises(KeyError):
        held.sum([0])


def test_a_sum_is_handed_over_once_and_taken_anew_without_somebody(tmp_path):
    held = host_of(assemble(small("fedavg")), [0, 1, 2], tmp_path, partial_sums=True).partial_sums
    for client, samples in ((2, 3.0), (0, 5.0), (1, 7.0)):
        held.put(client, {"parameters": {"w": torch.full((2,), client + 0.1)}}, samples)
    whole = held.whole()
    assert whole.weight == 15.0
    whole.digits[0] += 1  # who gets it may use it up
    assert held.whole() is None
    again, fewer = held.sum([1, 0, 2]), held.sum([0, 2])
    assert torch.allclose(again.mean()["parameters"]["w"], torch.full((2,), 14.5 / 15))
    assert fewer.weight == 8.0
    assert torch.allclose(fewer.mean()["parameters"]["w"], torch.full((2,), 6.8 / 8))


def test_a_sum_that_fails_says_so_where_it_is_asked_for(tmp_path):
    held = host_of(assemble(small("fedavg")), [0, 1], tmp_path, partial_sums=True).partial_sums
    held.put(0, {"parameters": {"w": torch.ones(2)}}, 1.0)
    held.put(1, {"parameters": {"w": torch.ones(2)}}, 1.5)
    assert held.whole() is None
    with pytest.raises(ValueError, match="whole numbers"):
        held.sum([0, 1])
