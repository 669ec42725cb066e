"""``fedkin data``: what there is to choose from, as plain values and as text."""

import inspect
from pathlib import Path
from typing import Any

from rich.console import Console

from fedkin.cli.listing.text import beginning, heading, note, paragraph, plain, values
from fedkin.core.errors import FedkinError
from fedkin.data.folder import data_folder
from fedkin.data.formats.cifar import LAYOUTS, find_cifar
from fedkin.data.formats.idx import find_idx
from fedkin.data.formats.npz import npz_names
from fedkin.data.named_sets import SOURCES, file_of
from fedkin.data.partitions.registry import PARTITIONS, parameters

IDX_SETS = ("mnist", "fashion_mnist")


def data(folder: Path | None) -> dict[str, Any]:
    """Every data set, whether and where it is present, and every partition with its parameters.

    Args:
        folder: The data folder; None: that of FEDKIN_DATA.

    Returns:
        {"folder", "data", "partitions"}: plain values.
    """
    chosen = data_folder(folder)
    own = [
        {"name": name, "summary": beginning(SOURCES[name]), **_presence(name, chosen)}
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
            "summary": beginning(PARTITIONS[name]),
            "parameters": {key: plain(value) for key, value in parameters(name).items()},
        }
        for name in PARTITIONS
    ]
    return {"folder": None if chosen is None else str(chosen), "data": own, "partitions": splits}


def show_data(console: Console, listing: dict[str, Any]) -> None:
    """``data`` as text.

    Args:
        console: Standard output.
        listing: What ``data`` gave.
    """
    where = listing["folder"] or "no data folder is named: use --data-dir or FEDKIN_DATA"
    heading(console, "Data sets", f"data folder: {where}")
    for one in listing["data"]:
        state = one["where"] if one["present"] else f"not found: {one['missing']}"
        paragraph(
            console, one["name"], [one["summary"], state], "green" if one["present"] else "yellow"
        )
    note(console, "or a file of your own: --data table.csv, table.parquet, arrays.npz")
    heading(
        console,
        "Partitions",
        "--split NAME, NAME:VALUE (the first parameter) or NAME:key=value,key=value",
    )
    for one in listing["partitions"]:
        paragraph(console, one["name"], [one["summary"], values(one["parameters"])])


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
