"""What other machines send, by chance and by malice: one sentence in bounded time, or it is good.

The number of cases a boundary is FEDKIN_FUZZ (default 500); the nightly runs 10,000.
"""

import json
import os
from contextlib import suppress
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("flwr")

from fedkin.core.method import Reply as Message
from fedkin.core.tree import named_leaves, weighted_mean
from fedkin.engine.acceptance import far_off
from fedkin.engine.codec import LARGEST, BadMessage, check, decode, encode
from fedkin.engine.server_guard import check_finite, guarded
from fedkin.flower.envelope import HEADER_BYTES, Facts, Refused, Reply, Request, opened, sealed

CASES = int(os.environ.get("FEDKIN_FUZZ", "500"))
many = settings(
    max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None
)

WILD = st.one_of(
    st.sampled_from(
        [0, -1, 1, 10**30, -(10**30), 2**53 + 1, 2**63, 10**400, 1e300, -1e308, 1e-320, 0.5]
    ),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), True, False, None, "", [], {}]),
    st.sampled_from(["\x1b[31mred", "a\nb", "../../etc", "<b>", "=cmd()", "\u202e", "0" * 5000]),
    st.sampled_from(["abc", "ab" * 32, "AB" * 32, "0123456789abcdef", "local", "personal"]),
    st.lists(st.integers(-3, 3), max_size=5),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.text(max_size=30),
    st.integers(),
    st.floats(),
)
HASH = "ab" * 32
DONE = {
    "op": "local",
    "round": 3,
    "weight": 7.0,
    "error": None,
    "seconds": 0.5,
    "scores": {"personal": {"val": [0.5, 0.25], "test": [1.5, 0.75]}},
    "notes": {"alpha": 0.5, "membership": [0.25, 0.75]},
    "measures": {"personal": {"test": {"rmse": 1.0}}},
    "message": True,
    "own": {"round": 3, "digest": HASH},
}
FACTS = {
    "train": 7,
    "val": 0,
    "test": 5,
    "shape": [3, 5],
    "dtype": "float32",
    "classes": 11,
    "task": "classification",
    "digest": HASH,
    "columns": ["age", "bmi"],
    "architecture": "",
}
ABOUT = {"protocol": 4, "version": "1", "experiment": HASH, "run": "0123456789abcdef", "name": "b"}
PLACE = {"client": 2, "clients": 5, "classes": 11, "architecture": "mlr", "joined": None}
REPLY = {**ABOUT, "error": None, "facts": FACTS, "steps": [DONE]}
REQUEST = {
    **ABOUT,
    "place": {**PLACE, "data": HASH},
    "base": {"round": 2, "digest": HASH},
    "keep": 1,
    "steps": [{"op": "evaluate", "round": 2}, {"op": "local", "round": 3}],
}


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = content.items() if isinstance(content, dict) else enumerate(content)
    found = [path] if path else []
    for key, value in inner if isinstance(content, (dict, list)) else ():
        found += places(value, (*path, key)) if isinstance(value, (dict, list)) else [(*path, key)]
    return found


def put(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = put(content[path[0]], path[1:], value)
    return copy


@st.composite
def headers(draw: st.DrawFn, good: dict[str, Any]) -> bytes:
    """A good header with a few places changed, keys added, or bytes broken."""
    content = good
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(good)))
        with suppress(KeyError, IndexError, TypeError):  # what was there before was changed away
            content = put(content, path, draw(WILD))
    if draw(st.integers(0, 5)) == 0:
        content = {**content, draw(st.text(max_size=9)): draw(WILD)}
    blob = bytearray(json.dumps(content).encode())
    if draw(st.integers(0, 5)) == 0:
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.integers(0, 255))
    return bytes(blob)


def good_or_one_sentence(kind: Any, blob: bytes) -> Any:
    said = ""
    try:
        found = opened(kind, blob)
    except Refused as error:
        said = str(error)
    if said:
        assert len(said) <= 300
        assert said.isprintable()
        return None
    assert len(sealed(found)) <= HEADER_BYTES
    return found


@pytest.mark.parametrize(("kind", "good"), [(Reply, REPLY), (Request, REQUEST)])
def test_the_grammar_begins_with_what_is_good(kind, good):
    assert good_or_one_sentence(kind, json.dumps(good).encode()) is not None


@many
@given(headers(REPLY))
def test_headers_up(blob):
    reply = good_or_one_sentence(Reply, blob)
    for done in () if reply is None else reply.steps:
        assert 0 <= done.round <= 10**7
        assert 0 <= done.weight <= 10**8
        assert len(done.own.digest) in (0, 64)
        for views in done.scores.values():
            assert all(not accuracy > 1 and not accuracy < 0 for _, accuracy in views.values())
        assert done.error is None or (len(done.error) <= 300 and done.error.isprintable())


@many
@given(headers(REQUEST))
def test_headers_down(blob):
    request = good_or_one_sentence(Request, blob)
    if request is not None and request.place is not None:
        assert request.place.clients <= 10**6
        assert request.place.classes <= 10**5
        assert all(step.round <= 10**7 for step in request.steps)


@many
@given(headers(FACTS))
def test_facts_of_nodes(blob):
    facts = good_or_one_sentence(Facts, blob)
    if facts is not None:
        torch.zeros((0, *facts.shape), dtype=getattr(torch, facts.dtype))
        assert facts.train + facts.val + facts.test <= 3 * 10**8


EXPECTED = {
    "parameters": {"w": torch.tensor([[0.5, -2.0, 1.0]]), "buffer:n": torch.tensor([3])},
    "control": {"cluster": 1, "loss": 0.25},
}
SHAPES = st.lists(st.integers(0, 4), max_size=3)
DTYPES = st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.float16])
NUMBERS = st.sampled_from([0.0, 1.0, -1e9, 1e29, 1e31, 3e38, float("nan"), float("inf")])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """What a client may send in place of EXPECTED."""

    def tensor() -> Any:
        like = draw(st.booleans())
        shape = (1, 3) if like else draw(SHAPES)
        dtype = torch.float32 if like else draw(DTYPES)
        return torch.full(shape, draw(NUMBERS)).nan_to_num(*draw(FILLS)).to(dtype)

    number = draw(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats()))
    tree = {
        "parameters": {"w": tensor(), "buffer:n": torch.tensor([draw(st.integers(-9, 9))])},
        "control": {"cluster": draw(st.one_of(st.just(1), st.just(number))), "loss": 0.5},
    }
    blob = bytearray(encode(tree))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.integers(0, 255))
    return bytes(blob[: draw(st.sampled_from([len(blob), len(blob), len(blob) - 3, 7]))])


FILLS = st.sampled_from([(0.0, 1.0, -1.0), (float("nan"), float("inf"), -float("inf"))])


@many
@given(st.lists(messages(), min_size=1, max_size=4))
def test_messages_up(blobs):
    """Each is refused with a reason, or bounded; what is merged of them is finite."""
    honest = Message({"w": torch.ones(1, 3)}, 3.0)
    usable, sizes = {99: honest}, {99: {"parameters": 1.0}, 98: {"parameters": 2.0}}
    for client, blob in enumerate(blobs):
        with suppress(BadMessage):
            message = decode(blob)
            sizes[client] = check(message, EXPECTED)
            for _, leaf in named_leaves(message):
                assert torch.as_tensor(leaf).double().abs().max() <= LARGEST
            usable[client] = Message({"w": message["parameters"]["w"]}, 1.0)
    for client in far_off(sizes):
        usable.pop(client, None)
    old = {"w": torch.zeros(1, 3)}

    def update(replies):
        given = list(replies.values())
        return weighted_mean((r.message for r in given), (r.weight for r in given))

    found = guarded(update, old, usable, 1)
    check_finite(found.state, old)
