"""How large a model of fedkin's own would be, before anybody makes room for it."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import memory

HELD = 3  # at least: the shared model, a client's own, and the gradient of a step
OBJECT = 1024  # bytes that a tensor takes at least, as an object of Python
LAYERS = "layers"  # the option that repeats one part of a model
ENDLESS = 2**31  # from here on torch may refuse a size as beyond all numbers
FEW = 3  # layers that are laid out; those after them are like the last


def check_fits(name: str, recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> None:
    """Refuse a model that this machine has no memory for.

    Args:
        name: Of one of fedkin's architectures.
        recipe: Makes it.
        arguments: Of the recipe.

    Raises:
        FedkinError: The parameters, held HELD times, are larger than the machine's memory; or a
            size is no size of a tensor.
    """
    try:
        needed = HELD * bytes_of(recipe, arguments)
    except FedkinError:
        raise
    except (OverflowError, RuntimeError, TypeError):
        if all(arguments[key] < ENDLESS for key in _largest(recipe, arguments)):
            return  # what is wrong is told by who makes the model
        needed = 0
    has = memory()
    if 0 < needed <= has:
        return
    size = f"{needed / 2**30:,.0f} GiB" if needed else "more than any machine has"
    raise FedkinError(
        f"model {name!r}{_chosen(recipe, arguments)} is too large: in training it needs {size} of "
        f"memory at least, and this machine has {has / 2**30:,.1f} GiB; "
        f"{_instead(name, recipe, arguments)}"
    )


def bytes_of(recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> int:
    """The size of a model's parameters and buffers, which are laid out and never filled.

    Args:
        recipe: Makes the model.
        arguments: Of the recipe.

    Returns:
        Bytes, OBJECT for a tensor at least.
    """
    layers: int = arguments.get(LAYERS, 0)
    if layers <= FEW:
        return _laid_out(recipe, arguments)
    fewer, few = (_laid_out(recipe, {**arguments, LAYERS: n}) for n in (FEW - 1, FEW))
    return few + (layers - FEW) * (few - fewer)


def _laid_out(recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> int:
    with torch.device("meta"):
        module = recipe(**arguments)
    tensors = (*module.parameters(), *module.buffers())
    return sum(max(OBJECT, one.numel() * one.element_size()) for one in tensors)


def _largest(recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> dict[str, Any]:
    """Of the options that are above their defaults, the one that is so by most, with its default;
    {} where there is none.
    """
    known = inspect.signature(recipe).parameters
    defaults = {key: known[key].default for key in arguments if isinstance(known[key].default, int)}
    above = [key for key, default in defaults.items() if arguments[key] > default]
    most = max(above, key=lambda key: arguments[key] / defaults[key], default=None)
    return {} if most is None else {most: defaults[most]}


def _chosen(recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> str:
    return "".join(f" with {key}={arguments[key]}" for key in _largest(recipe, arguments))


def _instead(name: str, recipe: Callable[..., nn.Module], arguments: dict[str, Any]) -> str:
    for key, default in _largest(recipe, arguments).items():
        return f"try {name}:{key}={default}, its default"
    return f"its samples have shape {list(arguments['shape'])}: give smaller ones, or try mlr"
