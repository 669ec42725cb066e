"""Texts of many clients as samples: a window of symbols (characters or words), and the symbol that
comes next.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fedkin.core.errors import FedkinError, cut
from fedkin.data.arrays import Array
from fedkin.data.source import Source, absent

Texts = Mapping[str, Sequence[Sequence[str]]]  # client → texts, each a string or a list of words
FILES = {"shakespeare": "shakespeare.json", "stackoverflow": "stackoverflow_train.h5"}
UNKNOWN, PADDING = 0, 1  # tokens after those of the vocabulary
WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
PARTS = 3  # train, validation and test: each needs a text of its own


def shakespeare(
    dir: Path | None = None,
    task: Literal["char", "word"] = "char",
    length: int = 0,
    vocabulary: int = 0,
    stride: int = 10,
    least: int = PARTS,
) -> Source:
    """Shakespeare's roles as natural clients: tokens [n, length] → the next character, or word
    (task).

    length: symbols before it, 80 characters or 20 words unless given. vocabulary: every character,
    or the 2,000 most frequent words. Words are in lower case, a punctuation mark is one. The others
    as in ``windows``.

    Args:
        dir: The data folder.
        task: Whether the next character or the next word is predicted.
        length: Symbols before it; 0: 80 or 20.
        vocabulary: Symbols that have a number of their own; 0: all characters, or 2,000 words.
        stride: Every `stride`-th symbol is predicted.
        least: Texts that a client must have.

    Returns:
        Tokens and the group "speech".

    Raises:
        FedkinError: The file is missing, or a number is out of range.
    """
    if task not in ("char", "word"):
        raise FedkinError(f"data.task={task!r} is not known: use 'char' or 'word'")
    roles = _roles(_file("shakespeare", dir))
    if task == "char":
        return windows("shakespeare", roles, "speech", length or 80, vocabulary, stride, least)
    words = {
        role: [WORD.findall(speech.lower()) for speech in speeches]
        for role, speeches in roles.items()
    }
    return windows("shakespeare", words, "speech", length or 20, vocabulary or 2000, stride, least)


def stackoverflow(
    dir: Path | None = None,
    length: int = 20,
    vocabulary: int = 10_000,
    stride: int = 1,
    least: int = PARTS,
    users: int = 100,
    posts: int = 256,
) -> Source:
    """Stack Overflow's users as natural clients: tokens [n, length] → the next word. Needs the
    extra h5.

    The HDF5 file is TensorFlow Federated's: examples/USER/tokens is an array of byte strings, each
    a post of words with blanks between. ``users``: so many are read, in the order of their names
    (0: all), of each the first ``posts``.

    Args:
        dir: The data folder.
        length: Words before the one that is predicted.
        vocabulary: Words that have a number of their own.
        stride: Every `stride`-th word is predicted.
        least: Posts that a client must have.
        users: How many are read; 0: all.
        posts: Posts of each that are read.

    Returns:
        Tokens and the group "post".
    """
    _whole("users", users, 0)
    _whole("posts", posts, 1)
    texts = _posts(_file("stackoverflow", dir), users, posts)
    return windows("stackoverflow", texts, "post", length, vocabulary, stride, least)


def _file(name: str, dir: Path | None) -> Path:
    if dir is None or not (dir / FILES[name]).is_file():
        raise absent(name, FILES[name], dir)
    return dir / FILES[name]


def windows(
    name: str,
    texts: Texts,
    unit: str,
    length: int,
    vocabulary: int = 0,
    stride: int = 1,
    least: int = PARTS,
) -> Source:
    """Every ``stride``-th symbol of a client (after the first of each text) with the ``length``
    symbols before it.

    x: [n, length] tokens: 0..classes-1 are the symbols, the most frequent first (ties by code
    point); ``classes`` is any symbol beyond the ``vocabulary`` most frequent (0: all are in it);
    ``classes + 1`` is padding, left of a text's beginning, because no window crosses from one text
    into another. y: [n] the next symbol, never an unknown one: such positions are no samples, so
    that no accuracy can count a predicted "unknown" as right. Frequencies are those of all texts,
    later test texts included. ``truth[unit]`` [n] numbers the texts: their windows overlap, and
    ``Source.group`` keeps each in one split. Clients with samples from fewer than ``least`` texts
    are left out.

    Args:
        name: Of the data set.
        texts: Client → its texts, each a sequence of symbols.
        unit: What a text is: "speech", "post"; its key in ``truth``.
        length: Symbols before the one that is predicted.
        vocabulary: The most frequent symbols that are kept; 0: all.
        stride: Every `stride`-th symbol is predicted.
        least: Texts that a client must have samples from.

    Returns:
        A Source of tokens whose clients are the keys of ``texts``.

    Raises:
        FedkinError: A number is out of range, or no client is left.
    """
    for key, value, low in (
        ("length", length, 1),
        ("vocabulary", vocabulary, 0),
        ("stride", stride, 1),
    ):
        _whole(key, value, low)
    _whole("least", least, 1)
    symbols = _vocabulary(texts, vocabulary)
    unknown = len(symbols) + UNKNOWN
    place = {symbol: token for token, symbol in enumerate(symbols)}
    kind = np.dtype(np.int16 if len(symbols) + PADDING < 2**15 else np.int32)
    parts = []
    numbered = 0
    for client, own in sorted(texts.items()):
        coded = [
            np.fromiter((place.get(symbol, unknown) for symbol in text), kind, len(text))
            for text in own
        ]
        x, y, text = _windows(coded, length, stride, len(symbols))
        if len(np.unique(text)) >= least:
            parts.append((x, y, text + numbered, np.repeat(client, len(y))))
        numbered += len(own)
    if not parts:
        raise FedkinError(
            f"{name}: no client has samples from {least} texts: lower data.least or data.stride"
        )
    x, y, text, client_of = (np.concatenate(column) for column in zip(*parts))
    return Source(
        name,
        x,
        y,
        len(symbols),
        client_of,
        class_names=tuple(symbols),
        truth={unit: text},
        group=unit,
    )


def _windows(
    coded: Sequence[Array], length: int, stride: int, classes: int
) -> tuple[Array, Array, Array]:
    """(x, y, number of the text) of one client's texts, given as tokens."""
    kind = coded[0].dtype if coded else np.dtype(np.int16)
    gap = np.full(length, classes + PADDING, kind)  # before each text
    joined = np.concatenate([np.empty(0, kind), *(part for text in coded for part in (gap, text))])
    of = np.repeat(np.arange(len(coded)), [length + len(text) for text in coded])
    starts = (
        np.cumsum([0, *(length + len(text) for text in coded[:-1])]) + length
        if coded
        else np.empty(0, np.int64)
    )
    target = joined < classes
    target[starts[[len(text) > 0 for text in coded]]] = (
        False  # nothing is before a text's first symbol
    )
    at = np.flatnonzero(target)[::stride]
    if not len(at):
        return np.empty((0, length), kind), np.empty(0, np.int64), np.empty(0, np.int64)
    return sliding_window_view(joined, length)[at - length], joined[at].astype(np.int64), of[at]


def _vocabulary(texts: Texts, most: int) -> list[str]:
    counts: Counter[str] = Counter()
    for own in texts.values():
        for text in own:
            counts.update(text)
    ranked = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    return ranked[: most or None]


def _whole(key: str, value: int, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise FedkinError(f"data.{key}={value!r} must be a whole number of at least {low}")


def _roles(path: Path) -> dict[str, list[str]]:
    try:
        roles: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        raise FedkinError(f"{path} is damaged: it needs JSON, {{role: [speech, …]}}") from None
    if not isinstance(roles, dict) or not all(_texts(speeches) for speeches in roles.values()):
        raise FedkinError(f"{path} needs JSON of the form {{role: [speech, …]}}")
    return roles


def _texts(speeches: Any) -> bool:
    return isinstance(speeches, list) and all(isinstance(speech, str) for speech in speeches)


def _posts(path: Path, users: int, posts: int) -> dict[str, list[list[str]]]:
    try:
        import h5py
    except ImportError:
        raise FedkinError(
            f"{path.name} needs the package h5py, the extra h5: in fedkin's checkout, "
            "pip install -c constraints.txt '.[h5]'"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            everyone = _own(file, "examples", path)
            chosen = sorted(everyone)[: users or None]
            return {
                user: list(_words(_own(_own(everyone, user, path), "tokens", path)[:posts]))
                for user in chosen
            }
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        raise FedkinError(
            f"{path} is damaged, or lacks examples/USER/tokens: arrays of byte strings"
        ) from None


def _own(group: Any, name: str, path: Path) -> Any:
    """What a group of an HDF5 file holds under a name, in that file itself: links and the data of
    other files would make samples of whatever this user may read.
    """
    import h5py

    link = group.get(name, getlink=True)
    if link is not None and not isinstance(link, h5py.HardLink):
        raise FedkinError(f"{path}: {cut(name, 40)!r} is a link: save its data in the file itself")
    member = group[name]
    if isinstance(member, h5py.Dataset) and (member.external or member.is_virtual):
        raise FedkinError(
            f"{path}: {cut(name, 40)!r} names other files: save its data in the file itself"
        )
    return member


def _words(tokens: Iterable[bytes]) -> Iterable[list[str]]:
    return (post.decode("utf-8").split() for post in tokens)
