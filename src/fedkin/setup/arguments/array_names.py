"""The names of arrays that a Python caller gives: one that nothing reads is told, and refused where
another one was meant.
"""

from collections.abc import Sequence

from fedkin.core.errors import FedkinError, letters, near
from fedkin.data.tables.client_column import names_people

KNOWN = ("x", "y", "client", "client_name", "names", "class_names")
PARTS = ("_train", "_test")
READ = (*KNOWN, *(name + part for name in ("x", "y", "client") for part in PARTS))
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
    others = [name for name in names if name not in READ]
    for name in others:
        meant = meant_by(name)
        if meant is not None and meant not in names:
            raise FedkinError(f"data: there is no array {name!r}: did you mean {meant!r}?")
    return [
        f"data: the array {name!r} is kept beside the samples, and no model sees it"
        f"{near(name, [one for one in READ if one not in names])}"
        for name in others
    ]


def meant_by(name: str) -> str | None:
    """The array that a name stands for, where others call it so.

    >>> meant_by("Client"), meant_by("X_train"), meant_by("hospital"), meant_by("weight")
    ('client', 'x_train', 'client', None)

    Args:
        name: As somebody called an array.

    Returns:
        A name that is read; None where it stands for none of them.
    """
    part = next((part for part in PARTS if name.lower().endswith(part)), "")
    word = letters(name[: len(name) - len(part)])
    known = {letters(one): one for one in KNOWN} | OTHERS
    found = known.get(word) or known.get(word.removesuffix("s"))
    if found is None and names_people(word):
        found = "client"
    return None if found is None else found + part
