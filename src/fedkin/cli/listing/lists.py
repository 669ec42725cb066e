"""``fedkin methods`` and ``fedkin data``: what there is to choose from, as plain values and as
text.
"""

import inspect
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.data.formats.cifar import LAYOUTS, find_cifar
from fedkin.data.formats.idx import find_idx
from fedkin.data.formats.npz import npz_names
from fedkin.data.partitions.registry import PARTITIONS, parameters
from fedkin.data.sources import SOURCES, data_folder, file_of
from fedkin.methods import ALIASES, Unloadable, make, registry

IDX_SETS = ("mnist", "fashion_mnist")
LONG = 7  # items of a list that are shown
SHARED = ("lr",)  # hyper-parameters that [train] gives to every method that takes them


def methods() -> list[dict[str, Any]]:
    """Every method: name, aliases, summary, hyper-parameters with their defaults, what it needs."""
    found = []
    for name, recipe in sorted(registry().items()):
        given = inspect.signature(recipe).parameters
        own = {key: p for key, p in given.items() if key not in SHARED}
        found.append(
            {
                "name": name,
                "aliases": [alias for alias, target in ALIASES.items() if target == name],
                "summary": _summary(recipe),
                "hyper_parameters": {
                    key: _plain(p.default) for key, p in own.items() if p.default is not p.empty
                },
                "required": [key for key, p in own.items() if p.default is p.empty],
                "needs": _needs(name),
            }
        )
    return found


def _summary(recipe: Callable[..., Method]) -> str:
    if isinstance(recipe, Unloadable):
        return recipe.reason
    return _first_line(inspect.getmodule(recipe)) or _first_line(recipe)


def data(folder: Path | None) -> dict[str, Any]:
    """Every data set, whether and where it is present, and every partition with its parameters."""
    chosen = data_folder(folder)
    own = [
        {"name": name, "summary": _first_line(SOURCES[name]), **_presence(name, chosen)}
        for name in SOURCES
    ]
    others = [name for name in (npz_names(chosen) if chosen else []) if name not in SOURCES]
    own += [
        {"name": n, "summary": "A file of the data folder.", **_there(str(chosen / f"{n}.npz"))}
        for n in others
        if chosen
    ]
    splits = [
        {
            "name": name,
            "summary": _first_line(PARTITIONS[name]),
            "parameters": {key: _plain(value) for key, value in parameters(name).items()},
        }
        for name in PARTITIONS
    ]
    return {"folder": None if chosen is None else str(chosen), "data": own, "partitions": splits}


def show_methods(console: Console, found: list[dict[str, Any]]) -> None:
    """``methods`` as text: a paragraph a method."""
    for one in found:
        also = f"  (also {', '.join(one['aliases'])})" if one["aliases"] else ""
        values = "  ".join([*one["required"], _values(one["hyper_parameters"])])
        _paragraph(console, one["name"] + also, [one["summary"], values, _said(one["needs"])])
    _note(
        console,
        "fedkin run --method NAME:key=value,key=value   (lr, batch size and steps are in the "
        "section train)",
    )


def show_data(console: Console, found: dict[str, Any]) -> None:
    """``data`` as text."""
    where = found["folder"] or "no data folder is named: use --data-dir or FEDKIN_DATA"
    _heading(console, "Data sets", f"data folder: {where}")
    for one in found["data"]:
        state = one["where"] if one["present"] else f"not found: {one['missing']}"
        _paragraph(
            console, one["name"], [one["summary"], state], "green" if one["present"] else "yellow"
        )
    _note(console, "or a file of your own: --data table.csv, table.parquet, arrays.npz")
    _heading(
        console,
        "Partitions",
        "--split NAME, NAME:VALUE (the first parameter) or NAME:key=value,key=value",
    )
    for one in found["partitions"]:
        _paragraph(console, one["name"], [one["summary"], _values(one["parameters"])])


def _needs(name: str) -> dict[str, Any] | None:
    """A method's needs, None where it cannot be made with its defaults alone."""
    try:
        needs = make(name, {}, {"lr": 0.1}).needs
    except FedkinError:
        return None
    return {
        "one_architecture": needs.one_architecture,
        "public": needs.public,
        "full_participation": needs.full_participation,
        "classes": needs.classes,
        "validation": needs.validation,
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
    return " · ".join(words)


def _presence(name: str, folder: Path | None) -> dict[str, Any]:
    if "dir" not in inspect.signature(SOURCES[name]).parameters:
        return _there("generated")
    if name == "digits":
        return _there("comes with scikit-learn")
    file = file_of(name)
    either = ""
    if name in LAYOUTS:
        either = " or the official binary files"
    elif name in IDX_SETS:
        either = " or the four IDX files"
    if folder is None:
        return {
            "present": False,
            "where": None,
            "missing": f"name a data folder that holds {file}{either}",
        }
    try:
        place = folder / file if (folder / file).is_file() else _official(name, folder)
    except FedkinError as error:  # some of the files are there
        return {"present": False, "where": None, "missing": str(error)}
    if place is None:
        return {"present": False, "where": None, "missing": f"put {file}{either} into {folder}"}
    return _there(str(place))


def _official(name: str, folder: Path) -> Path | None:
    """The folder with the files as the makers of a data set publish them."""
    if name in LAYOUTS:
        return find_cifar(name, [folder / name, folder])
    if name in IDX_SETS:
        files = find_idx([folder / name, folder])
        return None if files is None else next(iter(files.values())).parent
    return None


def _there(where: str) -> dict[str, Any]:
    return {"present": True, "where": where, "missing": None}


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").strip().partition("\n")[0].replace("``", "")


def _plain(value: Any) -> Any:
    """A default as JSON has it."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _values(parameters: dict[str, Any]) -> str:
    return "  ".join(f"{key}={_shown(value)}" for key, value in parameters.items())


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) > LONG:
        return f"[{value[0]}, {value[1]}, …, {value[-1]}]"
    return "none" if value is None else str(value)


def _paragraph(console: Console, title: str, rest: list[str], last: str = "dim") -> None:
    console.print(Text(title, style="bold"), soft_wrap=True)
    for number, text in enumerate(line for line in rest if line):
        style = last if number else ""
        for line in textwrap.wrap(text, console.width - 5):
            console.print(Text(f"    {line}", style=style), soft_wrap=True)


def _heading(console: Console, title: str, rest: str) -> None:
    console.print(Text.assemble((title, "bold underline"), "  ", (rest, "dim")), soft_wrap=True)


def _note(console: Console, text: str) -> None:
    console.print(Text(text, style="dim"), soft_wrap=True)
    console.print()
