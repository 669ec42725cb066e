"""The one codec: trees to bytes and back (safetensors), and the checks that every message passes.

A message is a dict {kind: tree}; ``KINDS`` are the ledger's columns. Nothing is pickled: what
arrives can only be tensors and numbers in the shapes that the method expects.
"""

import json
import math
from collections.abc import Callable, Set
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, TensorSpec, serialize
from safetensors.torch import load
from torch import Tensor

from fedkin.core.bounded import UpTo
from fedkin.core.errors import FedkinError
from fedkin.core.kinds import KINDS
from fedkin.core.tree import Tree, children, is_buffer, named_leaves

MAX_BYTES = 2 << 30  # of one message: larger ones are refused unread
SHORT = 1 << 16  # bytes of a header that is remembered
LARGEST = 1e30  # of any number in a message: sums and squares of more overflow
LARGEST_WHOLE = 2**53  # of a whole number beside the tensors
MOST_TENSORS = 100_000  # in one message
# entries that a tensor without any may stand for: its receiver may make room for [0, 10**12]
EMPTY = 1 << 20
DTYPES = {
    getattr(torch, name)
    for name in (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
    )
}

NOT_FINITE = "NaN or infinity"
PROMISE = "expected_update (before round 1 expected_setup)"  # where a method says what it sends


class BadMessage(FedkinError):
    """A message that is malformed: its sender is left out of the round, with this reason in the
    record.
    """


class Counted(NamedTuple):
    """The size of one message: scalars by kind, and bytes on the wire (header included)."""

    scalars: dict[str, int]
    bytes: int


def outline(tree: Tree) -> Any:
    """A tree's structure as JSON takes it: dicts of names, with "t", "i" or "f" for a leaf.

    Args:
        tree: Any one that can be sent.

    Returns:
        Dicts and strings; a tuple is {"(": its parts by number}.

    Raises:
        FedkinError: A name is no string, or is "(" alone.
    """
    kids = children(tree)
    if kids is None:
        if isinstance(tree, Tensor):
            return "t"
        return "i" if isinstance(tree, int) else "f"
    parts = {name: outline(child) for name, child in kids}
    if not isinstance(tree, dict):
        return {"(": parts}
    if any(not isinstance(name, str) for name in tree) or set(tree) == {"("}:
        raise FedkinError(f"the names of a tree are strings, and not '(' alone: {list(tree)[:3]}")
    return parts


def _tensor(leaf: Any) -> Tensor:
    if isinstance(leaf, Tensor):
        return leaf.detach().cpu().contiguous()
    if not isinstance(leaf, (int, float)):
        raise FedkinError(
            f"a tree holds tensors and numbers, in dicts and tuples, not {leaf!r:.60}"
        )
    return torch.tensor(leaf, dtype=torch.int64 if isinstance(leaf, int) else torch.float64)


def encode(tree: Tree) -> bytes:
    """A tree as safetensors bytes; its structure and the Python numbers in it are kept in the
    header.

    Args:
        tree: Dicts, tuples, tensors and numbers.

    Returns:
        The same bytes for the same tree.

    Raises:
        FedkinError: A leaf is something else; two entries have one path, or one has the format's
            own name.
    """
    structure = json.dumps(outline(tree))
    named = [(path or ".", _tensor(leaf)) for path, leaf in named_leaves(tree)]
    tensors = {path: _spec(tensor) for path, tensor in named}
    if len(tensors) < len(named) or "__metadata__" in tensors:
        raise FedkinError(
            "two entries of a tree have one path, or one is called __metadata__: "
            f"{sorted(tensors)[:9]}"
        )
    blob: bytes = serialize(tensors, {"tree": structure})  # reads the memory that ``named`` keeps
    return blob


def _spec(tensor: Tensor) -> TensorSpec:
    """Where a tensor lies: the library's own ``save`` finds the same at several times the cost."""
    name = str(tensor.dtype).removeprefix("torch.")
    return TensorSpec(
        dtype=name, shape=tensor.shape, data_ptr=tensor.data_ptr(), data_len=tensor.nbytes
    )


def decode(blob: bytes) -> Tree:
    """The tree that ``encode`` wrote.

    Args:
        blob: Anybody's bytes.

    Returns:
        Tensors of their own memory.

    Raises:
        BadMessage: It is too large, or not what ``encode`` writes.
    """
    if len(blob) > MAX_BYTES:
        raise BadMessage(f"message of {len(blob)} bytes, more than the {MAX_BYTES} allowed")
    try:
        tensors = load(blob)
        _bounded(tensors)
        header = blob[8 : 8 + int.from_bytes(blob[:8], "little")]
        tree = _grow(
            _outline_in(header) if len(header) < SHORT else _read_outline(header), tensors, ""
        )
        if len(tensors) != sum(1 for _ in named_leaves(tree)):
            raise ValueError("it holds more tensors than its outline names")
        return tree
    except UNREADABLE as error:
        raise BadMessage(f"message cannot be read: {type(error).__name__}: {error}") from None


def _bounded(tensors: dict[str, Tensor]) -> None:
    if len(tensors) > MOST_TENSORS:
        raise ValueError(f"it holds {len(tensors)} tensors, more than the {MOST_TENSORS} allowed")
    for path, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            raise ValueError(f"{path:.60}: {tensor.dtype} is no type of a message")
        if tensor.numel() == 0 and math.prod(size or 1 for size in tensor.shape) > EMPTY:
            raise ValueError(f"{path:.60}: an empty tensor of shape {list(tensor.shape)}")


def _read_outline(header: bytes) -> Any:
    return json.loads(json.loads(header)["__metadata__"]["tree"])


_outline_in = lru_cache(maxsize=8)(_read_outline)  # a round's messages are as many with one header


# What bytes of somebody else's making provoke in a parser; RuntimeError is torch's (shapes) and
# Python's (recursion).
UNREADABLE = (
    SafetensorError,
    LookupError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)


def _number(leaf: Tensor, dtype: torch.dtype) -> Any:
    if leaf.dtype != dtype or leaf.dim():
        raise ValueError(f"a number is {leaf.dtype} {list(leaf.shape)}")
    return leaf.item()


READ: dict[str, Callable[[Tensor], Any]] = {
    "t": lambda leaf: leaf,
    "i": lambda leaf: _number(leaf, torch.int64),
    "f": lambda leaf: _number(leaf, torch.float64),
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


def count(message: Tree, size: int) -> Counted:
    """Scalars by kind of a message {kind: tree}, and its bytes; an empty message is not sent.

    Args:
        message: What was sent.
        size: Bytes of the same, encoded.

    Returns:
        Scalars of each of KINDS, and bytes.
    """
    if not message:
        return Counted(dict.fromkeys(KINDS, 0), 0)
    scalars = dict.fromkeys(KINDS, 0)
    for kind, part in message.items():
        for _, leaf in named_leaves(part):
            scalars[kind] += leaf.numel() if isinstance(leaf, Tensor) else 1
    return Counted(scalars, size)


def check_kinds(message: Tree, method: str) -> None:
    """A method's own mistake: a message whose top level is not {kind: tree}.

    Args:
        message: What a method's function returned.
        method: Its name, for the message.

    Raises:
        BadMessage: Its top level is no dict, or has another key than KINDS.
    """
    if not isinstance(message, dict) or not set(message) <= set(KINDS):
        kinds = sorted(message) if isinstance(message, dict) else type(message).__name__
        raise BadMessage(
            f"method {method!r} sends {kinds}: the top level of a message must be among "
            f"{list(KINDS)}"
        )


def check(message: Tree, expected: Tree) -> dict[str, float]:
    """The largest absolute weight by kind of a message {kind: tree} that is as expected; running
    statistics aside.

    Args:
        message: What arrived.
        expected: A tree with the names, shapes and dtypes that it must have.

    Returns:
        {kind: number}, which ``far_off`` compares among clients.

    Raises:
        BadMessage: It has not the expected names, shapes and dtypes, or numbers that are not finite
            or above ``LARGEST``; says where.
    """
    got, want = dict(named_leaves(message)), dict(named_leaves(expected))
    if got.keys() != want.keys():
        raise BadMessage(_other_entries(want.keys() - got.keys(), got.keys() - want.keys()))
    largest: dict[str, float] = {}
    for path, leaf in got.items():
        kind, _, name = path.partition("/")
        size = _check_leaf(path, leaf, want[path])
        if not is_buffer(name.rpartition("/")[2]):
            largest[kind] = max(size, largest.get(kind, 0.0))
    return largest


def _other_entries(missing: Set[str], extra: Set[str]) -> str:
    """What a message lacks and what it has too much, of what its method says that it has."""
    told = []
    if missing:
        told.append(f"lacks {_few(missing)}, which {PROMISE} says it has")
    if extra:
        told.append(f"has {_few(extra)}, which {PROMISE} does not name")
    return f"the message {', and '.join(told)}"


def _few(paths: Set[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(path[:60] for path in sorted(paths)[:3]) + more


def _check_leaf(path: str, leaf: Any, like: Any) -> float:
    """The largest absolute number in an entry.

    Raises BadMessage for one that is not like ``like``.
    """
    if isinstance(like, UpTo):
        like = like.cut(leaf) if isinstance(leaf, Tensor) else like.most
    if isinstance(like, Tensor) != isinstance(leaf, Tensor):
        raise BadMessage(f"{path}: expected a {'tensor' if isinstance(like, Tensor) else 'number'}")
    if not isinstance(leaf, Tensor):
        whole = isinstance(like, int)
        if isinstance(leaf, int) != whole or (whole and abs(leaf) > LARGEST_WHOLE):
            raise BadMessage(f"{path}: {leaf:.3g} is not the number that was expected")
        size = _check_size(path, float(leaf), float(leaf))
        return 0.0 if whole else size  # a count or a draw is no weight, however large
    if leaf.shape != like.shape or leaf.dtype != like.dtype:
        want = f"{list(like.shape)} {like.dtype}"
        raise BadMessage(f"{path}: expected {want}, got {list(leaf.shape)} {leaf.dtype}")
    if not leaf.is_floating_point() or leaf.numel() == 0:
        return 0.0
    low, high = torch.aminmax(leaf)  # NaN where there is one
    return _check_size(path, low.item(), high.item())


def _check_size(path: str, low: float, high: float) -> float:
    size = max(abs(low), abs(high))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise BadMessage(f"{path}: contains {NOT_FINITE}")
    if size > LARGEST:
        raise BadMessage(f"{path}: {size:.3g}, numbers are at most {LARGEST:g}")
    return size
