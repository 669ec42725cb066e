"""Models given from Python as values, by name. They last as long as the process: a specification
holds their names only.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["SUFFIX", "recipe_of", "recipes_of", "register"]

SUFFIX = "@python"  # of their names

_RECIPES: dict[str, Callable[..., Any]] = {}


def register(recipes: Mapping[str, Callable[..., Any]]) -> None:
    """Make models known by their names; of two with one name the last counts.

    Args:
        recipes: {name: what makes the module}.
    """
    _RECIPES.update(recipes)


def recipe_of(name: str) -> Callable[..., Any] | None:
    """What makes a model that was given as a value.

    Args:
        name: As [model] has it.

    Returns:
        Its class or function; None where the name is none of a given model.
    """
    return _RECIPES.get(name)


def recipes_of(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Those of some models that were given as values.

    Args:
        names: Of any models.

    Returns:
        {name: what makes the module}, as ``register`` takes it.
    """
    return {name: _RECIPES[name] for name in names if name in _RECIPES}
