"""A list that takes torch to make, kept in the user's cache: the next call shows it at once."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedkin
from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.settings.chosen import cache_folder
from fedkin.core.system.installed import installed
from fedkin.core.system.private import private_folder

SOURCES = ("methods", "core", "transforms")  # folders of which methods are made
LARGEST = 1_000_000  # bytes of a list


def kept(name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, as JSON has it; from the cache where nothing has changed since.

    Methods of other packages may change unseen: where there are any, nothing is kept.

    Args:
        name: Of the list.
        make: Makes it, from imports that take long.

    Returns:
        Plain values.
    """
    folder = None if installed("fedkin.methods") else _folder()
    if folder is None:
        return make()
    path = folder / f"{name}-{_digest()}.json"
    try:
        if path.stat().st_size <= LARGEST:
            return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pass  # not there yet, or damaged
    made = make()
    for old in folder.glob(f"{name}-*.json"):
        old.unlink(missing_ok=True)
    try:
        write_file(path, json.dumps(made).encode())
    except OSError:
        return made  # no room: it is made again
    return made


def _folder() -> Path | None:
    try:
        return private_folder(cache_folder() / "lists")
    except (RuntimeError, FedkinError):  # nobody knows a home, or what it says
        return None


def _digest() -> str:
    """Of the sources as they are: an edit makes another."""
    root = Path(fedkin.__file__).parent
    versions = [fedkin.__version__, sys.version]
    for folder in SOURCES:
        for path in sorted(root.joinpath(folder).rglob("*.py")):
            facts = path.stat()
            versions.append(f"{path} {facts.st_size} {facts.st_mtime_ns}")
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:32]
