"""``fedkin methods``: what there is to choose from, as plain values and as text."""

from collections.abc import Callable
from typing import Any

from rich.console import Console

from fedkin.cli.listing.kept_list import kept
from fedkin.cli.listing.text import beginning, note, paragraph, plain, values
from fedkin.core.errors import FedkinError, letters
from fedkin.core.system.user_code import (
    find_user_code,
    in_a_file_here,
    is_user_code,
    of_this_folder,
)

SHARED = ("lr",)  # hyper-parameters that [train] gives to every method that takes them


def methods() -> list[dict[str, Any]]:
    """Every method: name, aliases, summary, hyper-parameters with their defaults, what it needs.

    Returns:
        A dict a method, as plain values.
    """
    listed: list[dict[str, Any]] = kept("methods", _listed)
    return listed


def named(name: str) -> list[dict[str, Any]]:
    """The method of that name, or alias, or of that path.

    Args:
        name: As it was typed.

    Returns:
        A list of one dict, as ``methods`` has it.

    Raises:
        FedkinError: There is none; names the nearest.
    """
    name = of_this_folder(name)
    if is_user_code(name):
        recipe = own_found(name)  # its file may hold several: its own first line tells of it
        return [_entry(name, recipe, beginning(recipe))]
    every = methods()
    matches = [one for one in every if name == one["name"]] or [
        one for one in every if letters(name) in map(letters, (one["name"], *one["aliases"]))
    ]
    if not matches:
        from fedkin.methods import no_method  # late: the list itself is kept, and quick

        if own := in_a_file_here(name):
            raise FedkinError(f"unknown method {name!r}: {own}")
        raise no_method(name, [one["name"] for one in every])
    return matches


def _listed() -> list[dict[str, Any]]:
    import inspect

    from fedkin.methods import Unloadable, registry

    return [
        _entry(
            name,
            recipe,
            recipe.reason
            if isinstance(recipe, Unloadable)
            else beginning(inspect.getmodule(recipe)) or beginning(recipe),
        )
        for name, recipe in sorted(registry().items())
    ]


def own_found(name: str) -> Callable[..., Any]:
    """The function of one's own that somebody typed.

    Args:
        name: "package.module:function".

    Returns:
        What makes the method, imported but not called.

    Raises:
        FedkinError: There is none.
    """
    from fedkin.methods.user_methods import allow, user_recipe

    find_user_code()
    allow([name])
    return user_recipe(name)


def _entry(name: str, recipe: Callable[..., Any], summary: str) -> dict[str, Any]:
    import inspect

    from fedkin.methods import ALIASES

    parameters = inspect.signature(recipe).parameters
    own = {key: p for key, p in parameters.items() if key not in SHARED}
    return {
        "name": name,
        "aliases": [alias for alias, target in ALIASES.items() if target == name],
        "summary": summary,
        "hyper_parameters": {
            key: plain(p.default) for key, p in own.items() if p.default is not p.empty
        },
        "required": [key for key, p in own.items() if p.default is p.empty],
        "needs": _needs(name),
    }


def show_methods(console: Console, listed: list[dict[str, Any]]) -> None:
    """``methods`` as text: a paragraph a method.

    Args:
        console: Standard output.
        listed: What ``methods`` gave.
    """
    for one in listed:
        also = f"  (also {', '.join(one['aliases'])})" if one["aliases"] else ""
        arguments = "  ".join([*one["required"], values(one["hyper_parameters"])])
        paragraph(console, one["name"] + also, [one["summary"], arguments, _said(one["needs"])])
    note(
        console,
        "fedkin run --method NAME:key=value,key=value   (lr, batch size and steps are in the "
        "section train)",
    )


def _needs(name: str) -> dict[str, Any] | None:
    """A method's needs, None where it cannot be made with its defaults alone."""
    from fedkin.methods.needs import needs_of

    needs = needs_of(name)
    if needs is None:
        return None
    return {
        "one_architecture": needs.one_architecture,
        "public": needs.public,
        "full_participation": needs.full_participation,
        "classes": needs.classes,
        "validation": needs.validation,
        "head": needs.head,
    }


def _said(needs: dict[str, Any] | None) -> str:
    if needs is None:
        return "its needs depend on its hyper-parameters"
    words = ["one architecture" if needs["one_architecture"] else "any architectures"]
    if needs["public"] != "none":
        words.append(f"{needs['public']} public set")
    if needs["full_participation"]:
        words.append("every client in every round")
    if needs["classes"]:
        words.append("classification only")
    if needs["validation"]:
        words.append("validation samples at every client")
    if needs["head"]:
        words.append("a model with a head")
    return " · ".join(words)
