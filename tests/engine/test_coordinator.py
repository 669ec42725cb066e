"""Sampling, placement, the ledger, and who is left out of a round."""

import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.host import TaskResult
from fedkin.engine.transports.base import InProcess
from fedkin.engine.transports.placement import place
from fedkin.engine.transports.processes import pack
from fedkin.experiment.run import run
from fedkin.setup.build import assemble, host_of
from tests.engine.small import small


def federation(method="fedavg", **settings):
    parts = assemble(small(method, **settings))
    transport = InProcess(host_of(parts, sorted(parts.infos), None))
    return Coordinator(parts.method, parts.federation, transport)


def sampler(sizes, share, sampling="uniform", seed=0):
    infos = {client: SimpleNamespace(samples=size) for client, size in enumerate(sizes)}
    method = SimpleNamespace(server=lambda start: {}, needs=SimpleNamespace(sampling=sampling))
    found = SimpleNamespace(start=None, infos=infos, participation=share, seed=seed, poisson=False)
    return Coordinator(method, found, None)


@pytest.mark.parametrize("clients", [1, 3, 10, 30, 70, 100, 1000])
@pytest.mark.parametrize("share", [0.001, 0.07, 0.1, 0.2, 0.3, 0.333, 0.5, 0.7, 0.9, 1.0])
def test_exactly_so_many_participants(clients, share):
    chosen = sampler([1] * clients, share).sample(1)
    assert len(chosen) == math.ceil(Fraction(str(share)) * clients)
    assert chosen == sorted(set(chosen))
    assert set(chosen) <= set(range(clients))


def test_seven_percent_of_a_hundred_are_seven():
    assert 0.07 * 100 > 7
    assert len(sampler([1] * 100, 0.07).sample(1)) == 7


def frequencies(sizes, share, sampling, rounds=2000):
    counts = torch.zeros(len(sizes))
    one = sampler(sizes, share, sampling)
    for number in range(rounds):
        counts[one.sample(number)] += 1
    return counts / rounds


def test_uniform_sampling_is_uniform():
    found = frequencies([1, 10, 100, 1000, 5], 0.4, "uniform")
    assert found.sub(0.4).abs().max() < 4 * math.sqrt(0.4 * 0.6 / 2000)


def test_sampling_by_size():
    sizes = [10, 20, 30, 40]
    found = frequencies(sizes, 0.25, "size")  # one a round: chances are p_k themselves
    assert found.sub(torch.tensor(sizes) / 100).abs().max() < 4 * math.sqrt(0.25 / 2000)
    two = frequencies(sizes, 0.5, "size")
    assert float(two.sum()) == pytest.approx(2)
    assert two.tolist() == sorted(two.tolist())


def test_sampling_by_size_looks_at_each_size_a_few_times():
    """Drawn anew for every client, the sum of all sizes took 25 s a round with 40,000 clients."""

    class Size(int):
        additions = 0

        def __radd__(self, other):
            Size.additions += 1
            return int(self) + other

    sizes = [Size(1 + (7 * k) % 13) for k in range(500)]
    chosen = sampler(sizes, 0.01, "size", seed=4).sample(3)
    assert Size.additions <= len(sizes)
    assert chosen == [9, 124, 219, 265, 340]  # as before


def test_sampling_is_a_function_of_seed_and_round():
    one, again, other = (sampler([1] * 50, 0.1, seed=seed) for seed in (1, 1, 2))
    assert [one.sample(n) for n in (3, 1, 2)] == [again.sample(n) for n in (3, 1, 2)]
    assert one.sample(1) != one.sample(2)
    assert one.sample(1) != other.sample(1)


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
    orders, _ = one._orders(range(6), [])
    assert len({id(order.message) for order in orders}) == 1
    header, blobs = pack(orders)
    assert len(blobs) == 1
    assert header == [(client, 0) for client in range(6)]


def test_clusters_are_broadcasts_of_their_own():
    one = federation("cgpfl", run__participation=1.0, run__seed=1)
    for number in (1, 2):
        record = one.round(number)
    cluster = one.round(3).lens["cluster"]
    before = record.lens["cluster"]
    firsts = {}
    for client in range(6):
        firsts.setdefault(before[client], client)
    sent: list = []
    one._orders(range(6), sent)
    assert len({cluster[client] for client in range(6)}) == 2
    assert [item.copy for item in sent] == [
        int(client not in _firsts(cluster)) for client in range(6)
    ]


def _firsts(cluster):
    seen: dict[int, int] = {}
    for client in range(6):
        seen.setdefault(cluster[client], client)
    return set(seen.values())


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


class Meddling:
    """A transport that changes the messages of some clients on their way up."""

    def __init__(self, inner, change, ops=("local", "introduce")):
        self.inner, self.change, self.ops = inner, change, ops

    def ask(self, op, round, orders):
        for answer in self.inner.ask(op, round, orders):
            yield self.change(answer) if op in self.ops and answer.client in (1, 4) else answer

    def __getattr__(self, name):
        return getattr(self.inner, name)


def with_message(edit):
    return lambda answer: answer._replace(message=encode(edit(decode(answer.message))))


def spoiled(kind="parameters", name="1.weight"):
    def edit(message):
        message[kind][name][0, 0] = math.nan
        return message

    return edit


BAD = {
    "nan": (with_message(spoiled()), "NaN"),
    "unknown key": (with_message(lambda m: {**m, "control": 1}), "unknown"),
    "unknown kind": (with_message(lambda m: {"weights": m["parameters"]}), "must be among"),
    "missing key": (
        with_message(lambda m: {"parameters": {"1.bias": m["parameters"]["1.bias"]}}),
        "missing",
    ),
    "shape": (
        with_message(lambda m: {"parameters": {k: v[:1] for k, v in m["parameters"].items()}}),
        "expected",
    ),
    "dtype": (
        with_message(lambda m: {"parameters": {k: v.half() for k, v in m["parameters"].items()}}),
        "float16",
    ),
    "not a message": (lambda answer: answer._replace(message=b"garbage"), "cannot be read"),
    "truncated": (lambda answer: answer._replace(message=answer.message[:-9]), "cannot be read"),
    "nothing": (lambda answer: TaskResult(answer.client), "no message"),
    "weight": (lambda answer: answer._replace(weight=math.nan), "nan samples"),
    "negative weight": (lambda answer: answer._replace(weight=-1e9), "samples"),
    "one sample more": (lambda answer: answer._replace(weight=answer.weight + 1), "samples"),
    "far off": (
        with_message(lambda m: {"parameters": {k: 1e6 * v for k, v in m["parameters"].items()}}),
        "too large",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_updates_are_left_out(case):
    change, reason = BAD[case]
    one, other = federation(run__participation=1.0), federation(run__participation=1.0)
    one.transport = Meddling(one.transport, change)
    record = one.round(1)
    assert sorted(record.missing) == [1, 4]
    assert all(reason in why for why in record.missing.values())
    assert {sent.client for sent in record.sent if sent.direction == "up"} == {0, 2, 3, 5}
    # the server's state is what the others alone make of it
    other.transport = Meddling(
        other.transport, lambda answer: TaskResult(answer.client, error="away")
    )
    other.round(1)
    assert encode(one.state) == encode(other.state)


def test_an_oversized_message(monkeypatch):
    one = federation(run__participation=1.0)
    monkeypatch.setattr("fedkin.engine.codec.MAX_BYTES", 5000)
    one.transport = Meddling(
        one.transport, with_message(lambda m: {**m, "control": torch.zeros(2000)})
    )
    assert all("more than the 5000 allowed" in why for why in one.round(1).missing.values())


@pytest.mark.parametrize(
    "edit", [lambda m: {"predictions": m["predictions"] / 0}, lambda m: {"other": m["predictions"]}]
)
def test_bad_introductions_are_left_out(edit):
    one = federation("comet", run__participation=1.0)
    one.transport = Meddling(one.transport, with_message(edit))
    assert sorted(one.setup().missing) == [1, 4]
    assert one.state["centroids"].isfinite().all()


def test_min_replies():
    def silent(answer):
        return TaskResult(answer.client, error="ConnectionError: gone")

    fine = federation(run__participation=1.0, run__min_replies=4)
    fine.transport = Meddling(fine.transport, silent)
    assert sorted(fine.round(1).missing) == [1, 4]
    strict = federation(run__participation=1.0, run__min_replies=5)
    strict.transport = Meddling(strict.transport, silent)
    before = encode(strict.state)
    with pytest.raises(
        FedkinError, match=r"round 1: 4 usable replies, at least 5 needed.*client 1: Conn.*gone"
    ):
        strict.round(1)
    assert encode(strict.state) == before


def test_fingerprint_sees_every_state():
    one = federation("cgpfl")
    prints = [one.fingerprint(), one.fingerprint()]
    one.round(1)
    prints.append(one.fingerprint())
    host = one.transport.host
    host.keep(3, {"theta": {name: x + 1e-7 for name, x in host.own(3)["theta"].items()}})
    prints.append(one.fingerprint())
    one.state = {**one.state, "stability": 0.123}
    prints.append(one.fingerprint())
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def test_local_training_that_diverged_is_told(tmp_path):
    """It sends no message that could be refused: what tells is that no client's model has a finite
    loss.
    """
    told = r"training diverged \(no client's model has a finite loss\): lower train\.lr"
    with pytest.raises(FedkinError, match=told):
        run(small("local", train__lr=1e300), tmp_path / "run")


def test_every_step_that_may_have_been_too_large_is_named(tmp_path):
    with pytest.raises(
        FedkinError, match=r"diverged \(.*\): lower train\.lr or method\.personal_lr$"
    ):
        run(small("pfedme", method__personal_lr=1e300), tmp_path / "run")


@pytest.mark.parametrize("method", ["fedfomo", "cgpfl"])
def test_the_server_tells_of_participants_only(method):
    """Else a record grows with all clients in every round, and fedfomo's with their square."""
    one = federation(method, run__clients=6, run__participation=0.5)
    one.setup()
    record = one.round(1)
    assert len(record.participants) == 3
    assert record.lens
    assert all(set(by) <= {*record.participants, -1} for by in record.lens.values())
    name, by = next(iter(one.finish(2).lens.items()))
    assert set(by) >= set(range(6)), name
