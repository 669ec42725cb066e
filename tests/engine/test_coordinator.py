"""The ledger, the fingerprint, and what the server tells."""

import pytest

from fedkin.engine.op import TaskResult
from tests.engine.coordinated import federation


def test_local_training_sends_nothing():
    record = federation("local").round(1)
    assert {(sent.bytes, sum(sent.scalars.values())) for sent in record.sent} == {(0, 0)}


def test_the_ledger_of_comet():
    one = federation("comet", run__participation=1.0)
    setup = one.setup()
    record = one.round(1)
    assert [sent.scalars["predictions"] for sent in setup.sent] == [
        600
    ] * 6  # 60 rows of 10 classes
    assert [s.scalars["centroids"] for s in record.sent if s.direction == "down"] == [
        1200
    ] * 6  # two of them
    assert [s.scalars["predictions"] for s in record.sent if s.direction == "up"] == [600] * 6


class Gone:
    """A transport that never reaches client 0, whose message is the first copy of a broadcast, and
    reaches client 1 in vain.
    """

    def __init__(self, inner):
        self.inner = inner

    def ask(self, op, round, orders):
        for answer in self.inner.ask(op, round, orders):
            gone = op in ("local", "finish") and answer.client < 2
            yield (
                TaskResult(answer.client, error="gone", reached=answer.client > 0)
                if gone
                else (answer)
            )

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.mark.parametrize("method", ["fedavg", "comet", "finetune"])
def test_a_message_that_was_never_sent_is_not_in_the_ledger(method):
    whole, one = (federation(method, run__participation=1.0) for _ in range(2))
    one.transport = Gone(one.transport)
    for federation_ in (whole, one):
        federation_.setup()
    sent, other = whole.round(1).sent, one.round(1)
    assert set(other.missing) == {0, 1}
    assert [item.client for item in other.sent] == [1, 2, 3, 4, 5, 2, 3, 4, 5]
    downs = [item for item in sent if item.direction == "down"]
    found = [item for item in other.sent if item.direction == "down"]
    # one copy of a broadcast counts as the first, whoever is gone
    assert [item.copy for item in downs] == [0, 1, 1, 1, 1, 1]
    assert found == [downs[1]._replace(copy=0), *downs[2:]]
    if whole.method.finalize is not None:
        assert [item.client for item in one.finish(2).sent] == [1, 2, 3, 4, 5]


def test_fingerprint_sees_every_state():
    one = federation("cgpfl")
    prints = [one.fingerprint(), one.fingerprint()]
    one.round(1)
    prints.append(one.fingerprint())
    host = one.transport.host
    host.keep(3, {"theta": {name: x + 1e-7 for name, x in host.personal_state(3)["theta"].items()}})
    prints.append(one.fingerprint())
    one.state = {**one.state, "stability": 0.123}
    prints.append(one.fingerprint())
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


@pytest.mark.parametrize("method", ["fedfomo", "cgpfl"])
def test_the_server_tells_of_participants_only(method):
    """Else a record grows with all clients in every round, and fedfomo's with their square. At the
    end it tells of all whom it knows: a client that no round had is in no cluster.
    """
    one = federation(method, run__clients=6, run__participation=0.5)
    one.setup()
    record = one.round(1)
    assert len(record.participants) == 3
    assert record.server_metrics
    assert all(set(by) <= {*record.participants, -1} for by in record.server_metrics.values())
    name, by = next(iter(one.finish(2).server_metrics.items()))
    assert set(by) >= set(range(6) if method == "fedfomo" else record.participants), name
