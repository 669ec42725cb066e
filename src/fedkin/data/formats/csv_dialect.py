"""Whether the CSV files of a folder are written alike: one separator, one encoding."""

import codecs
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from fedkin.core.errors import FedkinError, some
from fedkin.data.formats.csv_file import LATIN, TABS, UTF_16, marked

UTF_8, ASCII = "utf-8", "ascii"
CHUNK = 2**20  # bytes
# Python's names of those of which one may be taken for another; of more nobody knows
WESTERN = {"iso8859-1", "cp1252"}  # take any byte, those of UTF-8 too, as other letters
TOLD_APART = {"utf-8", "utf-16", *WESTERN}


def separators_differ(folder: Path, marks: Mapping[str, Sequence[Path]]) -> FedkinError:
    """That no separator fits all tables.

    Args:
        folder: Of the tables.
        marks: {separator: the tables that have it}, of at least two.

    Returns:
        Which tables are to be saved like the rest.
    """
    shown = {"a tab" if mark in TABS else repr(mark): paths for mark, paths in marks.items()}
    return _differ(folder, "separated by", shown)


def encodings_differ(folder: Path, paths: Sequence[Path], encoding: str) -> FedkinError | None:
    """Whether no encoding fits all tables.

    Args:
        folder: Of the tables.
        paths: Those of text.
        encoding: As which they are read.

    Returns:
        Which tables are to be saved like the rest; None where one encoding may fit all.
    """
    if codecs.lookup(encoding).name not in TOLD_APART:
        return None
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        kinds.setdefault(_encoding_of(path), []).append(path)
    plain = kinds.pop(ASCII, [])  # UTF-8 and latin-1 alike
    if plain and (UTF_8 in kinds or UTF_16 in kinds):
        kinds[UTF_8] = [*kinds.get(UTF_8, []), *plain]
    return _differ(folder, "encoded as", kinds) if len(kinds) > 1 else None


def mixes(encoding: str) -> bool:
    """Whether text of another encoding is read as other letters, and nothing tells it.

    Args:
        encoding: A name that Python knows.

    Returns:
        True of latin-1 and cp1252.
    """
    return codecs.lookup(encoding).name in WESTERN


def _encoding_of(path: Path) -> str:
    """What a file is: bytes that are UTF-8 with letters of several bytes are nothing else."""
    if marked(path):
        return UTF_16
    decoder, kind = codecs.getincrementaldecoder("utf-8")(), ASCII
    try:
        with path.open("rb") as file:
            for chunk in iter(partial(file.read, CHUNK), b""):
                kind = kind if chunk.isascii() else UTF_8
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return LATIN
    return kind


def _differ(folder: Path, how: str, groups: Mapping[str, Sequence[Path]]) -> FedkinError:
    most = max(groups, key=lambda one: len(groups[one]))
    rest = "; ".join(
        f"{some(path.name for path in paths)} {'is' if len(paths) == 1 else 'are'} {how} {one}"
        for one, paths in groups.items()
        if one != most
    )
    they = "it" if sum(map(len, groups.values())) == len(groups[most]) + 1 else "them"
    usual = f"the other {len(groups[most])} {how.split()[-1]} {most}"
    return FedkinError(f"{folder}: {rest} and {usual}: save {they} like those")
