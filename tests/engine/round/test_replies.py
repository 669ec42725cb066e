"""Which messages of a round count."""

import math

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import encode
from fedkin.engine.op import TaskResult
from tests.engine.coordinated import Meddling, federation, with_message


def spoiled(kind="parameters", name="1.weight"):
    def edit(message):
        message[kind][name][0, 0] = math.nan
        return message

    return edit


BAD = {
    "nan": (with_message(spoiled()), "NaN"),
    "unknown key": (with_message(lambda m: {**m, "control": 1}), "has control"),
    "unknown kind": (with_message(lambda m: {"weights": m["parameters"]}), "must be among"),
    "missing key": (
        with_message(lambda m: {"parameters": {"1.bias": m["parameters"]["1.bias"]}}),
        "lacks parameters/1.weight",
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


@pytest.mark.rotating
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
