"""Whose files may name code: a run directory, or an experiment, from elsewhere is data until a
person says otherwise.

What a person allows is remembered by folder and by a digest of what the folder's specification
names, in ``$XDG_STATE_HOME/fedkin/trusted.json`` (``~/.local/state``), which only that person can
change.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from fedkin.core.errors import FedkinError, some
from fedkin.core.files import write_file
from fedkin.core.system.private import private_folder, state_folder
from fedkin.core.system.user_code import is_user_code
from fedkin.runs.spec import Spec

REMEMBERED = "trusted.json"
MOST = 2000  # folders that are remembered: the oldest are forgotten first
LARGEST = 32 << 20  # bytes of that file: so many folders with names as long as they may be


def require(file: Path, spec: Spec, names: Sequence[str], trust_code: bool) -> None:
    """Refuse a specification that names code, unless a person trusts the folder that it lies in.

    Args:
        file: the specification's file, of which the folder is what is trusted.
        spec: what it says.
        names: the code that ``spec`` names, as ``package.module:attribute``; there may be none.
        trust_code: the person says so now; it is remembered.

    Raises:
        FedkinError: nobody has said so.
    """
    if not names:
        return
    if trust_code:
        remember(file.parent, spec)
    elif digest(spec) not in _remembered().get(_place(file.parent), []):
        raise FedkinError(
            f"{file} names code ({some(names, 3)}) that would run with your rights: if you "
            "trust where it comes "
            "from, say --trust-code once (in Python: trust_code=True)"
        )


def remember(folder: Path, spec: Spec) -> None:
    """The code that a folder's specification names is trusted from now on, where there is a place
    to remember it.

    Args:
        folder: The folder that is trusted.
        spec: What its specification says; another one in the same folder is not trusted.
    """
    home = _home()
    if home is None:
        return
    with suppress(OSError), FileLock(home / f"{REMEMBERED}.lock", timeout=10):
        known, place, own = _remembered(), _place(folder), digest(spec)
        if own in known.get(place, []):
            return
        known[place] = [*known.pop(place, []), own][-10:]
        latest = dict(list(known.items())[-MOST:])
        write_file(home / REMEMBERED, json.dumps(latest, indent=1).encode())


def digest(spec: Spec) -> str:
    """sha256 of all that decides which code a specification calls, and with what.

    Args:
        spec: The specification.

    Returns:
        64 hexadecimal digits.
    """
    model, method = spec.model, spec.method
    content = [model.name, sorted(model.map.items()), _sorted(model.options)]
    if is_user_code(method.name):  # what else a method is called, was not asked about before
        content += [method.name, _sorted(method.options)]
    if is_user_code(spec.run.measure):
        content += ["measure", spec.run.measure]
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def _sorted(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(options.items(), key=lambda item: item[0])


def _remembered() -> dict[str, list[str]]:
    home = _home()
    if home is None:
        return {}
    try:
        with open(home / REMEMBERED, encoding="utf-8") as file:
            content = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {place: digests for place, digests in content.items() if isinstance(digests, list)}


def _home() -> Path | None:
    try:
        return private_folder(state_folder("XDG_STATE_HOME", ".local/state"))
    except RuntimeError:  # nobody knows a home
        return None


def _place(folder: Path) -> str:
    return os.path.realpath(folder)
