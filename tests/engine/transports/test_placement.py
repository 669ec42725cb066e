"""Who works for whom: clients with a state stay where it is, the others are for whoever is free."""

import time
from types import SimpleNamespace

import pytest

from fedkin.core.method import Method
from fedkin.engine.op import Task
from fedkin.engine.transports import processes
from fedkin.engine.transports.placement import FEW, Placing, place
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.methods.fedavg import fedavg
from fedkin.setup.hosts import host_from_setup
from tests.engine.small import forked, outcome, small

SIZES = [5, 90, 10, 10, 40, 45, 1]
INFOS = {client: SimpleNamespace(samples=size) for client, size in enumerate(SIZES)}
LARGEST_FIRST = [1, 5, 4, 2, 3, 0, 6]


def orders(message=b"all", clients=range(7)):
    return [Task(client, message) for client in clients]


def test_clients_with_a_state_stay():
    placing = Placing(INFOS, 2, roam=False)
    assert [placing.known(worker) for worker in range(2)] == place(INFOS, 2)
    dealt = placing.deal(orders())
    assert dealt.free == []
    assert {
        worker: [order.client for order in pile] for worker, pile in dealt.piles.items()
    } == dict(enumerate(place(INFOS, 2)))


def test_clients_without_one_are_anybodys():
    placing = Placing(INFOS, 2, roam=True)
    assert [placing.known(worker) for worker in range(2)] == [list(range(7))] * 2
    dealt = placing.deal(orders())
    assert dealt.piles == {}
    assert [order.client for order in dealt.free] == LARGEST_FIRST


def test_who_keeps_a_state_is_bound():
    placing = Placing(INFOS, 2, roam=True)
    placing.bind(4, 1)
    dealt = placing.deal(orders())
    assert [order.client for order in dealt.piles[1]] == [4]
    assert [order.client for order in dealt.free] == [
        client for client in LARGEST_FIRST if client != 4
    ]
    assert placing.owner(4) == 1


def test_many_messages_go_to_their_worker_alone():
    placing = Placing(INFOS, 2, roam=True)
    few = [Task(client, bytes([client % FEW])) for client in range(7)]
    many = [Task(client, bytes([client])) for client in range(7)]
    assert len(placing.deal(few).free) == 7
    dealt = placing.deal(many)
    assert dealt.free == []
    assert sorted(order.client for pile in dealt.piles.values() for order in pile) == list(range(7))


class Stop(Exception):
    """Ends a run from its progress callback."""


def stopping(record):
    if record.round == 2:
        raise Stop


def remembering(method: Method) -> Method:
    """A method whose clients begin without a state and keep one from their first round on: how
    often they worked.
    """

    def local(down, own, data):
        _, up = method.client_update(down, {}, data)
        return {"times": own.get("times", 0) + 1}, up

    return method._replace(
        client_update=local, client_metrics=lambda own: {"times": own.get("times", 0)}
    )


def remembering_host(setup):
    host = host_from_setup(setup)
    host.method = remembering(host.method)
    return host


def patient_host(setup):
    """One client takes a second, others some hundredths: workers come free in no order."""
    host = host_from_setup(setup)
    local = host.method.client_update

    def slowly(down, own, data):
        time.sleep(1 if data.info.client == 0 else data.info.client * 7 % 5 / 100)
        return local(down, own, data)

    host.method = host.method._replace(client_update=slowly)
    return host


WORKERS = {"engine__name": "processes", "engine__workers": 3}


def test_whoever_works_the_result_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", forked(patient_host))
    assert outcome(run(small(**WORKERS), tmp_path / "there")) == outcome(
        run(small(), tmp_path / "here")
    )


def test_a_state_that_comes_later_stays_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "subprocess", forked(remembering_host))
    expected = outcome(run(small(), tmp_path / "here", method=remembering(fedavg(lr=0.05))))
    assert outcome(run(small(**WORKERS), tmp_path / "there")) == expected
    with pytest.raises(Stop):
        run(small(**WORKERS), tmp_path / "stopped", progress=stopping)
    assert outcome(resume(tmp_path / "stopped", workers=2)) == expected


def test_nobody_waits_behind_a_slow_client(tmp_path, monkeypatch):
    answered = []
    receive = processes.Processes._receive

    def noting(self, worker):
        header, blobs = receive(self, worker)
        answered.extend(answer["client"] for answer in header.get("answers", ()))
        return header, blobs

    monkeypatch.setattr(processes, "subprocess", forked(patient_host))
    monkeypatch.setattr(processes.Processes, "_receive", noting)
    settings = {**WORKERS, "engine__workers": 2, "run__rounds": 1, "run__participation": 1.0}
    run(small(**settings), tmp_path / "run")
    assert (
        answered[5] == 0
    )  # of its round's six it is the last: what would have come after it, the other worker did


def test_placement():
    infos = {
        client: SimpleNamespace(samples=size)
        for client, size in enumerate([5, 90, 10, 10, 40, 45, 1])
    }
    places = place(infos, 2)
    assert sorted(client for clients in places for client in clients) == list(range(7))
    loads = [sum(infos[client].samples for client in clients) for clients in places]
    assert max(loads) - min(loads) <= 5
    assert all(clients == sorted(clients) for clients in places)
    assert place(infos, 2) == places
    assert place(infos, 1) == [list(range(7))]
