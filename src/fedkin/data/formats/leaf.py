"""LEAF's JSON layout: users, and the x and y of each; files in train/ and test/, or in
one folder.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, many, reason, some
from fedkin.core.files import read_file
from fedkin.data.arrays import Array
from fedkin.data.formats.memory import room
from fedkin.data.source import Source, classified

PARTS = ("train", "test")
TASKS = ("auto", "classification", "regression")
LARGEST = 2**31  # a class number is below it


class User(NamedTuple):
    """One user's samples of one file."""

    name: str
    x: list[Any]
    y: list[Any]
    test: bool
    file: Path


def is_leaf(path: Path) -> bool:
    """A .json file, or a folder that holds some, itself or in ``train``.

    Args:
        path: Anything that is there.

    Returns:
        By names alone; no file is opened, but for a folder without ``train``.
    """
    if path.is_file():
        return path.suffix.lower() == ".json"
    return path.is_dir() and (any((path / "train").glob("*.json")) or _has_users(path))


def refuse_list(path: Path) -> None:
    """A .json file of records, of which no option says how to read it.

    Args:
        path: Anything that is there.

    Raises:
        FedkinError: It begins as a list does; LEAF's layout is an object.
    """
    if path.suffix.lower() != ".json" or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError:  # which the reader tells
        return
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        raise FedkinError(
            f"{path} holds a list, and a .json file is read in LEAF's layout alone: save its "
            "records as .csv, a row each (pandas.read_json and to_csv do)"
        )


def read_leaf(
    path: Path,
    *,
    shape: Sequence[int] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
) -> Source:
    """A Source of users as natural clients; samples of files in ``test/`` are official test
    samples.

    x: lists of numbers become float32 [n, numbers], or [n, *shape]; strings of one length whose y
    is one character become tokens of characters (LEAF's Shakespeare). y: whole numbers are classes
    as they are, also where they are written 1.0, texts are classes in sorted order, fractions are
    regression. Users without samples are no clients, and ``said`` counts them.

    Args:
        path: A .json file, or a folder of LEAF's layout.
        shape: Of one sample; () leaves it a row of numbers.
        task: What numbers in y are; "auto" goes by whether one is a fraction.

    Returns:
        A Source with natural clients.

    Raises:
        FedkinError: No user has a sample, or a file is not of LEAF's form.
    """
    if task not in TASKS:
        raise FedkinError(f"data.task={task!r} is not known: use {', '.join(map(repr, TASKS))}")
    users = [user for file, test in _files(path) for user in _users(file, test)]
    full = [user for user in users if user.y]
    if not full:
        raise FedkinError(f"{path} holds no samples: each of its {len(users)} users is empty")
    mask = np.repeat([user.test for user in full], [len(user.y) for user in full])
    client = np.repeat([user.name for user in full], [len(user.y) for user in full])
    labels = [value for user in full for value in user.y]
    if any(isinstance(value, str) for user in full for value in user.x):
        source = _characters(path, full, labels)
    else:
        y, names = _labels(labels, path, task)
        source = classified(
            path.stem, _shaped(_numbers(full), shape, path), y, where=str(path), class_names=names
        )
    empty = sorted({user.name for user in users} - {user.name for user in full})
    remarks = (
        (f"{many(len(empty), 'user has', 'users have')} no samples, so no client: {some(empty)}",)
        if empty
        else ()
    )
    official = mask if mask.any() and not mask.all() else None
    return source._replace(client=client, official_test=official, said=remarks)


def _has_users(folder: Path) -> bool:
    """Whether a folder's first .json is one of LEAF's (other layouts hold .json files too)."""
    # no pipe, which would be waited for
    first = next(iter(sorted(one for one in folder.glob("*.json") if one.is_file())), None)
    if first is None:
        return False
    with first.open("rb") as file:
        return b'"user' in file.read(4096) or first.stat().st_size < 4096


def _files(path: Path) -> list[tuple[Path, bool]]:
    if path.is_file():
        return [(path, False)]
    parts = [
        (file, part == "test") for part in PARTS for file in sorted((path / part).glob("*.json"))
    ]
    return parts or [(file, False) for file in sorted(path.glob("*.json"))]


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, of which the last of two equal names would win in silence."""
    content = dict(pairs)
    if len(content) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in content if times[name] > 1)
        raise ValueError(f"{twice!r:.60} stands twice in one object: join both")
    return content


def _users(file: Path, test: bool) -> list[User]:
    try:
        text = read_file(file, room()).decode("utf-8")
        content = json.loads(text, object_pairs_hook=_named_once)
    except UnicodeDecodeError:
        raise FedkinError(f"{file} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise FedkinError(
            f"{file}, line {error.lineno}: is not JSON: {error.msg}: was the file cut short?"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise FedkinError(f"{file} cannot be read: {reason(error)}") from None
    if not isinstance(content, Mapping) or not isinstance(content.get("user_data"), Mapping):
        raise FedkinError(f"{file} is not of LEAF's layout: it needs users and user_data")
    data = content["user_data"]
    users = content.get("users", list(data))
    lacking = (
        [name for name in users if not isinstance(name, str) or name not in data]
        if isinstance(users, list)
        else [users]
    )
    if lacking or len(users) != len(data):
        # the last is for a name that stands twice
        named = set() if lacking else set(users)  # each of them is text where none is lacking
        odd = lacking[0] if lacking else [*(name for name in data if name not in named), *users][0]
        raise FedkinError(f"{file}: user {odd!r:.60} is not in both users and user_data")
    users_read = []
    for name in users:
        own = data[name]
        x, y = (own.get("x"), own.get("y")) if isinstance(own, Mapping) else (None, None)
        if not isinstance(x, list) or not isinstance(y, list):
            raise FedkinError(f"{file}: user {name!r} needs lists x and y")
        if len(x) != len(y):
            raise FedkinError(f"{file}: user {name!r} has {len(x)} x and {len(y)} y")
        users_read.append(User(str(name), x, y, test, file))
    return users_read


def _numbers(users: list[User]) -> Array:
    """float32 [n, numbers], a user at a time."""
    parts = []
    for user in users:
        try:
            with np.errstate(over="ignore"):
                part = np.asarray(user.x, dtype=np.float32)
        except (ValueError, TypeError, OverflowError):
            raise FedkinError(
                f"{user.file}: x of user {user.name!r} is neither lists of numbers of one "
                "length nor text"
            ) from None
        parts.append(part.reshape(len(part), -1))
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        odd = next(user for user, part in zip(users, parts) if part.shape[1] != parts[0].shape[1])
        raise FedkinError(
            f"{odd.file}: samples of user {odd.name!r} are not as long as those of "
            f"{users[0].name!r}"
        )
    return np.concatenate(parts)


def _shaped(x: Array, shape: Any, path: Path) -> Array:
    if not shape:
        return x
    if not isinstance(shape, Sequence) or not all(isinstance(n, int) and n > 0 for n in shape):
        raise FedkinError(
            f"data.shape={shape!r} must be a list of whole numbers, such as [1, 28, 28]"
        )
    if int(np.prod(shape)) != x.shape[1]:
        raise FedkinError(
            f"{path}: samples have {x.shape[1]} numbers, which do not fill data.shape={list(shape)}"
        )
    return x.reshape(len(x), *shape)


def _labels(labels: list[Any], path: Path, task: str) -> tuple[Array, tuple[str, ...]]:
    kinds = {type(value) for value in labels}
    numbers = kinds <= {int, float, bool}
    whole = numbers and all(float(value).is_integer() for value in labels if type(value) is float)
    if numbers and task != "regression" and (whole or task == "classification"):
        odd = [value for value in labels if value != value // 1 or abs(value) >= LARGEST]
        if odd:
            raise FedkinError(
                f"{path}: y holds {odd[0]}, which is no class: number the classes from 0, or say "
                "data.task=regression"
            )
        return np.array(labels).astype(np.int64), ()
    if numbers:
        try:
            return np.array(labels, dtype=np.float64), ()
        except OverflowError:
            raise FedkinError(
                f"{path}: y holds a whole number that is too large for a target: scale it"
            ) from None
    if not kinds <= {str}:
        raise FedkinError(
            f"{path}: y holds {', '.join(sorted(kind.__name__ for kind in kinds))}: give one kind"
        )
    names, y = np.unique(np.array(labels, dtype=str), return_inverse=True)
    return y.astype(np.int64), tuple(str(name) for name in names)


def _characters(path: Path, users: list[User], labels: list[Any]) -> Source:
    texts = [text for user in users for text in user.x]
    odd = next(
        (text for text in texts if not isinstance(text, str) or len(text) != len(texts[0])), None
    )
    if odd is not None or not texts[0]:
        raise FedkinError(f"{path}: texts in x must have one length, but one is {str(odd)[:40]!r}")
    if not all(isinstance(label, str) and len(label) == 1 for label in labels):
        raise FedkinError(
            f"{path}: x is text but y is not the character that comes next: put texts and "
            "labels into a table, "
            "and name the column with data.text"
        )
    signs = sorted({sign for text in [*texts, *labels] for sign in text})
    code = {sign: number for number, sign in enumerate(signs)}
    x = np.array([[code[sign] for sign in text] for text in texts], dtype=np.int32)
    y = np.array([code[label] for label in labels], dtype=np.int64)
    return Source(path.stem, x, y, len(signs), class_names=tuple(signs))
