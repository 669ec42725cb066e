"""One run of the leaderboard: what it scored, sent and computed."""

import pytest
import torch

from fedkin.bench.trial import Sent, Work, counted, epsilon_of, method_of, sent_of, spec_of
from fedkin.methods import make
from fedkin.runs.record import EPSILON

CONTENT = {
    "data": {"name": "digits"},
    "method": {"name": "ditto", "lam": 0.7},
    "train": {"lr": 0.3},
    "run": {"rounds": 9},
}


def test_a_specification_is_run_in_one_process() -> None:
    spec = spec_of(CONTENT, "/sets")
    assert (spec.method.name, spec.method.options) == ("ditto", {"lam": 0.7})
    assert (spec.engine.name, spec.engine.compile, spec.data.dir) == ("inprocess", "auto", "/sets")
    assert spec_of(CONTENT).data.dir is None
    assert spec_of(CONTENT, engine="never").engine.compile == "never"
    assert method_of(CONTENT) is None
    outside = {**CONTENT, "method": {"name": "mine:method", "near": 1}}
    assert spec_of(outside).method.name == "fedavg"  # it is given as a value beside it


def test_bytes_of_every_message_are_counted() -> None:
    def part(up, down):
        return {"unicast": {"bytes": {"up": up, "down": down, "total": up + down}}}

    told = {**part(100, 1000), "setup": part(7, 0), "finish": part(0, 50)}
    assert sent_of(told) == Sent(setup=7, rounds=1100, finish=50, up=107, down=1050)


def test_work_that_is_once_counts_once() -> None:
    assert Work(once=100.0, round=7.0).of(10) == 170


def test_privacy_costs_what_it_costs_the_worst() -> None:
    assert epsilon_of({"extras": {EPSILON: {"a": 1.5, "b": None, "c": 4}}}) == 4.0
    assert epsilon_of({"extras": {}}) is None


def test_multiplications_of_every_step_are_counted() -> None:
    def client_update(received, own, data):
        return own, {"parameters": {"w": received["w"] @ received["w"].T}}

    plain = make("fedavg", {}, {"lr": 0.1})._replace(client_update=client_update)
    method, counts = counted(plain)
    received = {"w": torch.ones(3, 5)}
    own, sent = method.client_update(received, {"a": 1}, None)
    assert own == {"a": 1}
    assert sent["parameters"]["w"].tolist() == [[5.0] * 3] * 3
    assert counts == [2 * 3 * 5 * 3]
    method.client_update(received, {}, None)
    assert counts == [90, 90]
    assert method.setup_message is None
    assert method.predict is plain.predict
    with pytest.raises(TypeError):
        method.client_update(received)
