"""What the columns of a table are for: of the clients' own, and of a public one, which is read as
theirs.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, some
from fedkin.data.formats.frames import Read
from fedkin.data.source import Publicity

Names = str | Sequence[str]  # of one column or of several
# cells that stand for nothing: in all columns, or by column
Missing = Sequence[Any] | Mapping[str, Sequence[Any]]


class Roles(NamedTuple):
    """What the columns of a table are for, and how they are taken: the keys of [data] for every
    kind of table.
    """

    client: str | None = None
    label: str = "label"
    task: str = "auto"
    scale: str = "standard"
    drop: Names = ()
    categorical: Names = ()
    text: Names = ()
    group: str | None = None
    most: int = 100
    unlabeled: str = "refuse"
    about: Names = ()
    publicity: Publicity = "private"
    missing: Missing = ()
    unify: Names = ()
    duplicates: str = "keep"


def as_asked(read: Read, where: str, roles: Roles) -> tuple[Read, Roles]:
    """A private table as it is.

    Of a public one, what no model sees is left out where it is there, and not missed.

    Args:
        read: The table as it was read.
        where: The file, for messages.
        roles: The keys of [data], for the private table.

    Returns:
        The rows, and the roles that this table can play.

    Raises:
        FedkinError: A labelled public table has no label.
    """
    if roles.publicity == "private":
        return read, roles
    names = [str(name) for name in read.frame.columns]
    there = set(names)
    lists = {
        key: [name for name in listed(key, getattr(roles, key)) if name in there] for key in LISTS
    }
    apart = [name for name in (roles.client, roles.group) if name in there]
    drop = list(dict.fromkeys([*lists["drop"], *lists["about"], *map(str, apart)]))
    roles = roles._replace(
        client=None,
        group=None,
        about=(),
        drop=drop,
        categorical=lists["categorical"],
        text=lists["text"],
        unify=lists["unify"],
        missing=_there(roles.missing, there),
        duplicates="keep",
    )
    if roles.publicity == "labeled":
        if roles.label not in there:
            raise FedkinError(
                f"{where} has no column {roles.label!r}, the label of the private table "
                f"(columns: {some(names, 12)}): "
                "add it, or set public.labeled to false"
            )
        return read, roles
    kept = read.frame.drop(columns=[roles.label], errors="ignore")
    # which nobody will read
    return read._replace(frame=kept.assign(**{roles.label: 0})), roles._replace(task="auto")


def _there(missing: Missing, columns: Collection[str]) -> Missing:
    if not isinstance(missing, Mapping):
        return missing
    return {name: cells for name, cells in missing.items() if name in columns}


LISTS = ("drop", "about", "categorical", "text", "unify")


def listed(key: str, names: Any) -> tuple[str, ...]:
    """The names of columns that a key of [data] holds.

    Args:
        key: Of [data], for the message.
        names: One name, or a list of them.

    Returns:
        A tuple of names, also where one name was given.

    Raises:
        FedkinError: It is neither.
    """
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise FedkinError(f"data.{key}={names!r} must be a list of column names")
    return tuple(names)
