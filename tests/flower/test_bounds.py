"""Headers at their bounds: what is still taken, and what is one more than that."""

import json
import math
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

pytest.importorskip("flwr")

from fedkin.flower.envelope import (
    Base,
    Done,
    Facts,
    NodeReply,
    Place,
    Refused,
    RemoteStep,
    Request,
    cleaned,
    opened,
)

WHO = {"version": "", "experiment": "", "run": "", "name": ""}
LEAST: dict[type[BaseModel], dict[str, Any]] = {
    Facts: {
        "train": 1,
        "val": 0,
        "test": 0,
        "shape": [1],
        "dtype": "float32",
        "classes": 0,
        "task": "regression",
        "digest": "",
    },
    Done: {"op": "local", "round": 0},
    Place: {"client": 0, "clients": 1, "classes": 0, "architecture": ""},
    Request: WHO,
    NodeReply: WHO,
}
STEP = {"op": "local", "round": 1}
ONE = {"test": [0.5, 0.5]}
BOUNDS: list[tuple[type[BaseModel], str, list[Any], list[Any]]] = [
    (Facts, "train", [1, 100_000_000], [0, 100_000_001]),
    (Facts, "val", [0, 100_000_000], [-1, 100_000_001]),
    (Facts, "shape", [[1] * 8, [1 << 13, 1 << 13]], [[1] * 9, [0], [1 << 13, 8193]]),
    (Facts, "classes", [0, 100_000], [-1, 100_001]),
    (Facts, "columns", [["x" * 200], [""] * 20_000], [["x" * 201], [""] * 20_001]),
    (Facts, "digest", ["", "0f" * 32], ["0f" * 31, "0F" * 32, "0f" * 33]),
    (Facts, "architecture", ["x" * 1000], ["x" * 1001]),
    (Done, "round", [0, 10_000_000], [-1, 10_000_001]),
    (Done, "weight", [0, 0.5, 1e8], [-0.5, 1e8 + 1]),
    (Done, "seconds", [0, 0.5, 1e9], [-0.5, 1e9 + 0.5, math.inf, math.nan]),
    (Done, "scores", [dict.fromkeys(map(str, range(16)), ONE)],
     [dict.fromkeys(map(str, range(17)), ONE)]),
    (Done, "scores", [{"a": {"test": [0, 0]}}, {"a" * 64: {"val": [0, 1]}}],
     [{"a": {"test": [0, -0.1]}}, {"a": {"test": [0, 1.1]}}, {"a" * 65: ONE}]),
    (Done, "measures", [{key: {} for key in map(str, range(16))}],
     [{key: {} for key in map(str, range(17))}]),
    (Done, "measures", [{"a": {"test": {"auc": 0, "r2": 1}}}], [{"a": {"test": {"auc": -0.1}}}]),
    (Done, "measures", [{"a": {"test": {"auc": 1, "threshold": 1, "rmse": 0, "se": 0}}}],
     [{"a": {"test": {"threshold": 1.1}}}, {"a": {"test": {"auc": 0.5, "se": -0.1}}}]),
    (Done, "notes", [dict.fromkeys(map(str, range(32)), 1)],
     [dict.fromkeys(map(str, range(33)), 1)]),
    (Done, "notes", [{"a": [1] * 20_000}], [{"a": [1] * 20_001}, {"a": [1] * 20_000, "b": True}]),
    (Done, "notes", [{"a": 1e30, "b": [-1e30, True], "c": [math.nan, math.inf]}],
     [{"a": 2e30}, {"a": 10**31}, {"a": "1"}, {"a": [1, "1"]}, {"a": [[1]]}, {"a": None}]),
    (Place, "client", [0, 999_999], [-1, 1_000_000]),
    (Place, "clients", [1, 1_000_000], [0, 1_000_001]),
    (Place, "classes", [0, 100_000], [-1, 100_001]),
    (Request, "run", ["", "0f" * 8, "0f" * 10], ["0f" * 9, "0f" * 11, "0F" * 8]),
    (Request, "steps", [[STEP] * 4], [[STEP] * 5]),
    (NodeReply, "steps", [[STEP] * 4], [[STEP] * 5]),
    (NodeReply, "clock", [0, 0.5, 1e11], [-0.5, 1e11 + 0.5, math.inf, math.nan]),
]  # fmt: skip


def header(kind: type[BaseModel], **changed: Any) -> bytes:
    return json.dumps({**LEAST[kind], **changed}).encode()


@pytest.mark.parametrize(("kind", "name", "fine", "refused"), BOUNDS)
def test_what_lies_at_a_bound_is_taken_and_what_lies_beyond_is_not(kind, name, fine, refused):
    for value in fine:
        opened(kind, header(kind, **{name: value}))
    for value in refused:
        with pytest.raises(Refused, match=f"{kind.__name__.lower()} is malformed: {name}"):
            opened(kind, header(kind, **{name: value}))


def test_what_a_header_does_not_say() -> None:
    done, request = opened(Done, header(Done)), opened(Request, header(Request))
    assert (done.weight, done.seconds, done.error, done.message) == (0, 0, None, False)
    assert (done.scores, done.measures, done.notes) == ({}, {}, {})
    assert (request.base, request.keep, request.steps) == (Base(round=0, digest=""), 0, ())
    assert opened(NodeReply, header(NodeReply)).steps == ()
    assert opened(Facts, header(Facts)).columns == ()


def test_a_header_is_strict() -> None:
    step = RemoteStep(op="local", round=1)
    with pytest.raises(ValidationError):
        step.round = 2
    for changed in ({"round": "1"}, {"x" * 70: 1}):
        with pytest.raises(Refused) as told:
            opened(Done, header(Done, **changed))
    assert str(told.value).startswith(f"done is malformed: {'x' * 60}: ")
    with pytest.raises(Refused, match=r"^nodereply is malformed: header: "):
        opened(NodeReply, b"[")


def test_a_header_has_so_many_bytes_and_entries() -> None:
    whole = header(NodeReply)
    padded = whole + b" " * ((8 << 20) - len(whole))
    assert opened(NodeReply, padded) == opened(NodeReply, whole)
    with pytest.raises(Refused, match="header of 8388609 bytes, more than the 8388608 allowed"):
        opened(NodeReply, padded + b" ")
    colons = 50_000 - header(NodeReply, error="").count(b":")
    assert opened(NodeReply, header(NodeReply, error=":" * colons)).error == ":" * 300
    with pytest.raises(Refused, match="header of more than 50,000 entries"):
        opened(NodeReply, header(NodeReply, error=":" * (colons + 1)))
    for entry in ("1", "[]"):  # a list of wrong entries: one sentence each would fill the memory
        steps = b'{"steps":[' + b",".join([entry.encode()] * 100_002) + b"]}"
        with pytest.raises(Refused, match="header of more than 100,000 entries"):
            opened(Request, steps)


def test_a_loss_stays_what_it_is_up_to_that_of_a_model_that_diverged() -> None:
    for told, kept in ((1e30, 1e30), (-1e30, -1e30), (2e30, math.inf), (math.nan, math.nan)):
        done = opened(Done, header(Done, scores={"a": {"test": [told, math.nan]}}))
        assert done.scores["a"]["test"][0] == pytest.approx(kept, nan_ok=True)


def test_a_strangers_text_is_one_printable_line() -> None:
    assert cleaned("a\x1b \n b") == "a b"
    assert cleaned(" " * 599 + "x") == "x"
    assert cleaned(" " * 600 + "x") == "it gives no reason"
    assert cleaned("x" * 301) == "x" * 300
