"""A grammar of hostile messages: good ones with a few places changed, or bytes broken."""

import json
from contextlib import suppress
from typing import Any

import torch
from hypothesis import strategies as st

from fedkin.core.tree import Tree
from fedkin.engine.codec import encode
from fedkin.flower.envelope import PROTOCOL

WILD = st.one_of(
    st.sampled_from(
        [0, -1, 1, 10**30, -(10**30), 2**53 + 1, 2**63, 10**400, 1e300, -1e308, 1e-320, 0.5]
    ),
    st.sampled_from([10**5, 10**6, 10**7, 10**8, 3 * 10**8]),
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
FACTS: dict[str, Any] = {
    "train": 7,
    "val": 0,
    "test": 5,
    "shape": [3, 5],
    "dtype": "float32",
    "classes": 11,
    "task": "classification",
    "digest": HASH,
    "columns": [],
    "architecture": "",
}
TABLE = {**FACTS, "shape": [2], "columns": ["age", "bmi"]}
ABOUT = {
    "protocol": PROTOCOL,
    "version": "1",
    "experiment": HASH,
    "run": "0123456789abcdef",
    "name": "b",
}
PLACE = {"client": 2, "clients": 5, "classes": 11, "architecture": "mlr", "joined": None}
REPLY: dict[str, Any] = {**ABOUT, "error": None, "facts": TABLE, "steps": [DONE]}
REQUEST: dict[str, Any] = {
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
    for key, value in inner if isinstance(content, dict | list) else ():
        found += places(value, (*path, key)) if isinstance(value, dict | list) else [(*path, key)]
    return found


def put(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The content with another value at a place."""
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = put(content[path[0]], path[1:], value)
    return copy


@st.composite
def changed(draw: st.DrawFn, good: dict[str, Any]) -> bytes:
    """A good header with a few places changed."""
    content = good
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(good)))
        with suppress(KeyError, IndexError, TypeError):  # what was there before was changed away
            content = put(content, path, draw(WILD))
    return json.dumps(content).encode()


@st.composite
def headers(draw: st.DrawFn, good: dict[str, Any]) -> bytes:
    """The same, perhaps with keys added, or bytes broken."""
    content = json.loads(draw(changed(good)))
    if draw(st.integers(0, 5)) == 0 and isinstance(content, dict):
        content = {**content, draw(st.text(max_size=9)): draw(WILD)}
    blob = bytearray(json.dumps(content).encode())
    if draw(st.integers(0, 5)) == 0:
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.integers(0, 255))
    return bytes(blob)


SHAPES = st.lists(st.integers(0, 4), max_size=3)
DTYPES = st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool, torch.float16])
NUMBERS = st.sampled_from(
    [0.0, 1.0, -1e9, 1e4, 2e4, 1e29, -9e29, 1e31, 3e38, float("nan"), float("inf")]
)


def _leaves(tree: Tree, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(tree, dict | tuple):
        inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return [leaf for key, part in inner for leaf in _leaves(part, (*path, key))]
    return [(path, tree)]


def _with(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: _with(tree[path[0]], path[1:], value)}
    return tuple(
        _with(part, path[1:], value) if k == path[0] else part for k, part in enumerate(tree)
    )


@st.composite
def changed_message(draw: st.DrawFn, good: Tree) -> bytes:
    """A good message of the codec with a few numbers, shapes or types changed, or bytes broken."""
    tree = good
    leaves = _leaves(good)
    for _ in range(draw(st.integers(0, 2))):
        path, leaf = draw(st.sampled_from(leaves))
        number = draw(NUMBERS)
        if isinstance(leaf, torch.Tensor):
            shape = leaf.shape if draw(st.integers(0, 3)) else draw(SHAPES)
            dtype = leaf.dtype if draw(st.integers(0, 3)) else draw(DTYPES)
            new: Any = torch.full(shape, number, dtype=torch.float64)
            new = new.to(dtype) if dtype.is_floating_point else new.nan_to_num(0).to(dtype)
            if draw(st.booleans()) and leaf.numel() and new.shape == leaf.shape:
                some = leaf.clone().to(dtype)
                some.view(-1)[draw(st.integers(0, leaf.numel() - 1))] = new.view(-1)[0]
                new = some
        else:
            new = draw(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats()))
        tree = _with(tree, path, new)
    if isinstance(tree, dict) and draw(st.integers(0, 9)) == 0:
        tree = {**tree, draw(st.sampled_from(["x", "parameters", ""])): torch.zeros(2)}
    blob = bytearray(encode(tree))
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
        blob[draw(st.integers(0, len(blob) - 1))] = draw(st.integers(0, 255))
    return bytes(blob[: draw(st.sampled_from([len(blob)] * 4 + [len(blob) - 3, 7]))])
