"""The one codec: trees to bytes and back (safetensors), and the checks that every message passes.

A message is a dict {kind: tree}; ``KINDS`` are the ledger's columns. Nothing is pickled: what arrives can only be
tensors and numbers in the shapes that the method expects.
"""

import json
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, TensorSpec, serialize
from safetensors.torch import load
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import KINDS
from fedkin.core.tree import Tree, children, named_leaves

MAX_BYTES = 2 << 30  # of one message: larger ones are refused unread
SHORT = 1 << 16  # bytes of a header that is remembered

NOT_FINITE = "NaN or infinity"


class BadMessage(FedkinError):
    """A message that is malformed: its sender is left out of the round, with this reason in the record."""


class Counted(NamedTuple):
    """The size of one message: scalars by kind, and bytes on the wire (header included)."""

    scalars: dict[str, int]
    bytes: int


def _outline(tree: Tree) -> Any:
    kids = children(tree)
    if kids is None:
        return "t" if isinstance(tree, Tensor) else "i" if isinstance(tree, int) else "f"
    parts = {name: _outline(child) for name, child in kids}
    if not isinstance(tree, dict):
        return {"(": parts}
    if any(not isinstance(name, str) for name in tree) or set(tree) == {"("}:
        raise FedkinError(f"the names of a tree are strings, and not '(' alone: {list(tree)[:3]}")
    return parts


def _tensor(leaf: Any) -> Tensor:
    if isinstance(leaf, Tensor):
        return leaf.detach().cpu().contiguous()
    if not isinstance(leaf, (int, float)):
        raise FedkinError(f"a tree holds tensors and numbers, in dicts and tuples, not {leaf!r:.60}")
    return torch.tensor(leaf, dtype=torch.int64 if isinstance(leaf, int) else torch.float64)


def encode(tree: Tree) -> bytes:
    """A tree as safetensors bytes; its structure and the Python numbers in it are kept in the header."""
    outline = json.dumps(_outline(tree))
    named = [(path or ".", _tensor(leaf)) for path, leaf in named_leaves(tree)]
    tensors = {path: _spec(tensor) for path, tensor in named}
    if len(tensors) < len(named) or "__metadata__" in tensors:
        raise FedkinError(f"two entries of a tree have one path, or one is called __metadata__: {sorted(tensors)[:9]}")
    blob: bytes = serialize(tensors, {"tree": outline})  # reads the memory that ``named`` keeps
    return blob


def _spec(tensor: Tensor) -> TensorSpec:
    """Where a tensor lies: the library's own ``save`` finds the same at several times the cost."""
    name = str(tensor.dtype).removeprefix("torch.")
    return TensorSpec(dtype=name, shape=tensor.shape, data_ptr=tensor.data_ptr(), data_len=tensor.nbytes)


def decode(blob: bytes) -> Tree:
    """The tree that ``encode`` wrote. Raises BadMessage for anything else."""
    if len(blob) > MAX_BYTES:
        raise BadMessage(f"message of {len(blob)} bytes, more than the {MAX_BYTES} allowed")
    try:
        tensors = load(blob)
        header = blob[8 : 8 + int.from_bytes(blob[:8], "little")]
        tree = _grow(_outline_in(header) if len(header) < SHORT else _read_outline(header), tensors, "")
        if len(tensors) != sum(1 for _ in named_leaves(tree)):
            raise ValueError("it holds more tensors than its outline names")
        return tree
    except UNREADABLE as error:
        raise BadMessage(f"message cannot be read: {type(error).__name__}: {error}") from None


def _read_outline(header: bytes) -> Any:
    return json.loads(json.loads(header)["__metadata__"]["tree"])


_outline_in = lru_cache(maxsize=8)(_read_outline)  # a round's messages are as many with one header


# What bytes of somebody else's making provoke in a parser; RuntimeError is torch's (shapes) and Python's (recursion).
UNREADABLE = (SafetensorError, LookupError, ArithmeticError, ValueError, TypeError, AttributeError, RuntimeError)

READ: dict[str, Callable[[Tensor], Any]] = {
    "t": lambda leaf: leaf,
    "i": lambda leaf: int(leaf.item()),
    "f": lambda leaf: float(leaf.item()),
}


def _grow(outline: Any, tensors: dict[str, Tensor], path: str) -> Tree:
    if isinstance(outline, str):
        leaf = tensors[path or "."]
        return READ[outline](leaf)
    if set(outline) == {"("}:
        return tuple(_grow(part, tensors, _join(path, name)) for name, part in outline["("].items())
    return {name: _grow(part, tensors, _join(path, name)) for name, part in outline.items()}


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def count(message: Tree, blob: bytes) -> Counted:
    """Scalars by kind of a message {kind: tree}, and its bytes; an empty message is not sent."""
    if not message:
        return Counted(dict.fromkeys(KINDS, 0), 0)
    scalars = dict.fromkeys(KINDS, 0)
    for kind, part in message.items():
        for _, leaf in named_leaves(part):
            scalars[kind] += leaf.numel() if isinstance(leaf, Tensor) else 1
    return Counted(scalars, len(blob))


def check_kinds(message: Tree, method: str) -> None:
    """A method's own mistake: a message whose top level is not {kind: tree}."""
    if not isinstance(message, dict) or not set(message) <= set(KINDS):
        found = sorted(message) if isinstance(message, dict) else type(message).__name__
        raise BadMessage(f"method {method!r} sends {found}: the top level of a message must be among {list(KINDS)}")


def check(message: Tree, expected: Tree) -> None:
    """Raise BadMessage unless ``message`` has the expected names, shapes and dtypes, and only finite numbers."""
    got, want = dict(named_leaves(message)), dict(named_leaves(expected))
    if got.keys() != want.keys():
        missing, extra = sorted(want.keys() - got.keys()), sorted(got.keys() - want.keys())
        raise BadMessage(f"message has the wrong entries: missing {missing[:3]}, unknown {extra[:3]}")
    for path, leaf in got.items():
        _check_leaf(path, leaf, want[path])


def _check_leaf(path: str, leaf: Any, like: Any) -> None:
    if isinstance(like, Tensor) != isinstance(leaf, Tensor):
        raise BadMessage(f"{path}: expected a {'tensor' if isinstance(like, Tensor) else 'number'}")
    if not isinstance(leaf, Tensor):
        if not math.isfinite(leaf):
            raise BadMessage(f"{path}: {leaf} is not finite")
        return
    if leaf.shape != like.shape or leaf.dtype != like.dtype:
        want = f"{list(like.shape)} {like.dtype}"
        raise BadMessage(f"{path}: expected {want}, got {list(leaf.shape)} {leaf.dtype}")
    # a finite sum proves every entry finite; only a sum that is not needs the look at each
    if leaf.is_floating_point() and not math.isfinite(leaf.sum().item()) and not bool(torch.isfinite(leaf).all()):
        raise BadMessage(f"{path}: contains {NOT_FINITE}")
