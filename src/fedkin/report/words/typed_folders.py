"""Folders as somebody types them: many of them by a pattern."""

import re
import shlex
from collections.abc import Sequence
from itertools import groupby, takewhile
from pathlib import Path

FEW = 3  # folders that are shorter to name than a pattern is to understand


def typed_folders(folders: Sequence[Path]) -> str:
    """Folders for a command line: ``runs/*``, or ``runs/ditto-*`` and ``runs/local-*``, where that
    names the same ones in the same order, and no other folder.

    Args:
        folders: Which are there, in any number of parent folders.

    Returns:
        Quoted for a shell.
    """
    words: list[str] = []
    for parent, inside in groupby(map(Path, folders), key=lambda folder: folder.parent):
        names, there = [folder.name for folder in inside], _folders_in(parent)
        whole = _pattern(names, there)
        parts = [names] if whole else [list(part) for _, part in groupby(names, key=_stem)]
        for part in parts:
            pattern = _pattern(part, there)
            within = "" if parent == Path() else f"{shlex.quote(str(parent))}/"
            each = [shlex.quote(str(parent / name)) for name in part]
            words += [f"{within}{pattern}"] if pattern else each
    return " ".join(words)


def _pattern(names: Sequence[str], there: Sequence[str]) -> str:
    """What names these folders of those that are there, the shortest pattern; "" where none does,
    or where there are few.
    """
    if len(names) < FEW:
        return ""
    first, last = _shared(names), _shared([name[::-1] for name in names])[::-1]
    room = min(map(len, names)) - len(first)  # a letter is not of the beginning and of the end
    last = last[max(0, len(last) - room) :]
    for begin, end in (("", ""), (first, ""), ("", last), (first, last)):
        if [name for name in there if name.startswith(begin) and name.endswith(end)] == names:
            return "*".join(shlex.quote(part) if part else "" for part in (begin, end))
    return ""


def _shared(names: Sequence[str]) -> str:
    """The letters that all begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike)


def _stem(name: str) -> str:
    """What names of one method's runs begin with: letters."""
    return re.split(r"[^A-Za-z]", name, maxsplit=1)[0]


def _folders_in(parent: Path) -> list[str]:
    """As a shell orders them, without hidden ones."""
    found = (path.name for path in parent.glob("*") if path.is_dir())
    return sorted(name for name in found if not name.startswith("."))
