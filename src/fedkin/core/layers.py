"""Layers by name: which entries of a parameter dict a choice in a specification means."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.tree import BUFFER, is_buffer

__all__ = ["ENDS", "Layers", "select"]

Layers = str | Sequence[str]
"""Prefixes of names, one or several ("2." is that layer, "*bias" every bias), or "all", "first",
"last", "norm"; () is none.
"""

ENDS: dict[str, Callable[[list[str]], str]] = {
    "first": lambda names: names[0],
    "last": lambda names: names[-1],
}


def select(params: Mapping[str, Any], choice: Layers, kind: str) -> frozenset[str]:
    """The names of ``params`` that ``choice`` means; running statistics go with their layer.

    "last" is the layer whose parameters come last, "first" the one whose come first: either is
    refused where it is all that is not frozen. "norm" are the layers that have running statistics,
    as batch norm has. ``kind`` says in a FedkinError what the choice is for.

    Args:
        params: Name → weight, in the model's order.
        choice: "all", "first", "last", "norm", or the beginnings of names.
        kind: What the choice is for, in messages: "head".

    Returns:
        A set of names, not in the model's order; a buffer goes with its layer.

    Raises:
        FedkinError: A name that is not there, or a choice that would be the whole model.
    """
    weights = [name for name in params if not is_buffer(name)]
    if choice == "all":
        return frozenset(params)
    if choice == "norm":
        return _with_statistics(params, kind)
    if isinstance(choice, str) and choice in ENDS:
        layer = _layer(ENDS[choice](weights))
        if all(_layer(name) == layer for name in weights):
            raise FedkinError(
                f"{kind} {choice!r}: the model has one layer only, but for frozen ones: take a "
                f"model of several (--model dnn), name parameters of it, as in [{weights[-1]!r}], "
                f"or choose 'all' (names: {', '.join(weights)})"
            )
        return frozenset(name for name in params if _layer(name) == layer)
    prefixes = (choice,) if isinstance(choice, str) else tuple(choice)
    for prefix in prefixes:
        if not _fitting(weights, prefix):
            raise unknown(kind, prefix, weights)
    return frozenset(name for prefix in prefixes for name in _fitting(params, prefix))


def _with_statistics(params: Mapping[str, Any], kind: str) -> frozenset[str]:
    layers = {_layer(name) for name in params if is_buffer(name)}
    if not layers:
        raise FedkinError(
            f"{kind} 'norm': the model has no layer with running statistics: choose one with batch "
            "norm (resnet18, mobilenet_v2) and model.buffers = 'global', or name the layers"
        )
    return frozenset(name for name in params if _layer(name) in layers)


def _layer(name: str) -> str:
    return name.removeprefix(BUFFER).rpartition(".")[0]


def _fitting(names: Iterable[str], prefix: str) -> list[str]:
    return [name for name in names if fnmatchcase(name.removeprefix(BUFFER), f"{prefix}*")]
