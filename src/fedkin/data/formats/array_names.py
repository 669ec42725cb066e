"""The names of somebody's arrays, in an .npz or as Python gives them: one that nothing reads is
told, and refused where it is the name of another one, written otherwise.
"""

from collections.abc import Collection, Sequence

from fedkin.core.errors import FedkinError, letters, near
from fedkin.data.tables.client_names import names_people

KNOWN = ("x", "y", "client", "client_name", "names", "class_names")
BY_ROW = ("x", "y", "client")  # of which every part has its own
PARTS = {
    "train": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
    "testing": "test",
    "training": "train",
}
READ = (*KNOWN, *(f"{name}_{part}" for name in BY_ROW for part in ("train", "test")))
CLASSES = ("targetnames", "labelnames", "targetname", "labelname")  # as others call class_names
OTHERS = {"label": "y", "target": "y", "sample": "x", "feature": "x", "group": "client"}


def unread(names: Sequence[str]) -> list[str]:
    """A sentence for each array that nothing reads.

    Args:
        names: Of all arrays that were given, x and y among them.

    Returns:
        In the order of ``names``.

    Raises:
        FedkinError: One is meant for an array that is not there, as ``Client`` is.
    """
    check_names(names, "data", READ)
    return [
        f"data: the array {name!r} is kept beside the samples, and no model sees it"
        f"{_meant(name, [one for one in READ if one not in names])}"
        for name in names
        if name not in READ
    ]


def check_names(
    names: Collection[str], where: object, read: Collection[str], aside: Collection[str] = ()
) -> None:
    """Refuse an array that is meant for one that is not there.

    Args:
        names: Of all arrays.
        where: Whose they are, for messages.
        read: The names that are read.
        aside: Those of them for which only another spelling is refused, no other word: a file's
            array ``group`` may be what [data] group names.

    Raises:
        FedkinError: Names the array and what it is meant for.
    """
    for name in names:
        meant = None if name in read else meant_by(name)
        if meant is None or meant in names or meant not in read:
            continue
        if meant not in aside or letters(name).removesuffix("s") == letters(meant):
            raise FedkinError(f"{where}: no array is called {name!r}: did you mean {meant!r}?")


def check_own(names: Collection[str], where: object, unlabeled: bool) -> None:
    """Refuse arrays of a file that are meant for others, or are of another form of the file.

    Args:
        names: Of all its arrays.
        where: The file, for messages.
        unlabeled: It is a public set of which x alone is needed: nothing is meant for others.

    Raises:
        FedkinError: Names the array and what is read instead.
    """
    read = _read_of(names)
    needed = _needed(read, unlabeled)
    check_names(names, where, needed, [name for name in needed if name.startswith("client")])
    odd = next((name for name in BY_ROW if name in names and name not in read), None)
    if odd is not None:
        raise FedkinError(
            f"{where} has {odd} beside x_train: there {odd}_train and {odd}_test are read"
        )
    clients = {"client", "client_train", "client_test"} & {*names}
    if "client_name" in names and not clients and not unlabeled:
        raise FedkinError(
            f"{where} has client_name and no client: give client, the row of client_name of every "
            "sample"
        )


def said_of(names: Sequence[str], kept: Collection[str], unlabeled: bool) -> tuple[str, ...]:
    """What is said of a file's arrays that no model sees.

    Args:
        names: Of all its arrays, which ``check_own`` let pass.
        kept: Of those that are kept beside the samples, without their part.
        unlabeled: As ``check_own`` has it.

    Returns:
        A sentence for each.
    """
    read = _read_of(names)
    missing = [name for name in _needed(read, unlabeled) if name not in names]
    return tuple(
        f"the array {name!r} is {_what(name, kept)}{_meant(name, missing)}"
        for name in names
        if name not in read
    )


def _read_of(names: Collection[str]) -> list[str]:
    """What is read of a file: of each part its own arrays where it is divided."""
    divided = "x_train" in {meant_by(name) for name in names} and not {"x", "y"} <= {*names}
    by_row = [name for name in READ if name not in KNOWN] if divided else BY_ROW
    return [*by_row, *(name for name in KNOWN if name not in BY_ROW)]


def _needed(read: Sequence[str], unlabeled: bool) -> list[str]:
    return [name for name in read if not unlabeled or name.startswith("x")]


def _what(name: str, kept: Collection[str]) -> str:
    if name in kept or name.rpartition("_")[0] in kept:
        return "kept beside the samples, and no model sees it"
    return "not read"


def _meant(name: str, missing: Sequence[str]) -> str:
    """The hint at an array that is not there."""
    meant = "class_names" if letters(name) in CLASSES else meant_by(name)
    if meant is not None:
        return f": did you mean {meant!r}?" if meant in missing else ""
    return near(name, [one for one in missing if _alike(name, one)])


def _alike(name: str, other: str) -> bool:
    """Whether two may be likened: what all arrays of a part, or of names, end in says nothing."""
    (whole, _, end), (rest, _, ending) = name.rpartition("_"), other.rpartition("_")
    if whole and {end, ending} <= {"name", "names"}:
        return bool(near(whole, [rest]))
    return end not in PARTS or end != ending


def meant_by(name: str) -> str | None:
    """The array that a name stands for, where others call it so.

    >>> meant_by("Client"), meant_by("X_train"), meant_by("hospital"), meant_by("weight")
    ('client', 'x_train', 'client', None)
    >>> meant_by("x_valid")
    'x_val'

    Args:
        name: As somebody called an array.

    Returns:
        A name that is read; None where it stands for none of them.
    """
    whole, _, end = name.rpartition("_")
    part = PARTS.get(end.lower()) if whole else None
    word = letters(whole if part else name)
    known = {letters(one): one for one in KNOWN} | OTHERS
    array = known.get(word) or known.get(word.removesuffix("s"))
    if array is None and names_people(word):
        array = "client"
    if array is None or part is None:
        return array
    return f"{array}_{part}"
