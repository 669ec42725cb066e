"""A saved data set of which a column holds pictures: the others say what they are."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import text
from fedkin.data.formats.frames import Read
from fedkin.data.formats.pixels import Colour, changes, pixels
from fedkin.data.source import Source, classified
from fedkin.data.tables.gaps import filled
from fedkin.data.tables.schema import LISTS, Roles, as_asked, listed
from fedkin.data.tables.table import (
    about_of,
    check_choices,
    check_columns_there,
    groups_of,
    labels_of,
    official_of,
)

# keys of columns that a model sees as numbers, and of rows that may be left out
OF_TABLES = ("categorical", "text", "scale", "most", "unlabeled", "missing", "unify", "duplicates")


def pictures_of(
    read: Read,
    name: str,
    where: str,
    columns: Sequence[str],
    roles: Roles,
    colour: Colour,
    size: Sequence[int],
    content: Callable[[Any], bytes],
) -> Source:
    """A Source of the first column of pictures that is not dropped.

    Args:
        read: The rows.
        name: Of the data set.
        where: The file, for messages.
        columns: Those that hold pictures.
        roles: The keys of [data].
        colour: "grey", "rgb", or "auto".
        size: [height, width] of pictures; () where all have one.
        content: A cell → the encoded picture.

    Returns:
        A Source of pixels.

    Raises:
        FedkinError: A column is not there, a key is for tables alone, or a picture cannot be read.
    """
    check_choices(roles)
    _refuse_keys_of_tables(where, roles)
    read, roles = as_asked(read, where, roles)
    lists = {key: listed(key, getattr(roles, key)) for key in LISTS}
    check_columns_there(read, where, roles, lists)
    left = [column for column in columns if column not in lists["drop"]]
    if not left:
        raise FedkinError(f"{where}: data.drop leaves out {columns[0]!r}, which holds the images")
    for role in (roles.label, *(one for one in (roles.client, roles.group) if one)):
        filled(read.frame[role], read.place, role == roles.client)
    cells = list(read.frame[left[0]])
    reads = [partial(content, cell) for cell in cells]
    found = pixels(reads, [read.place(row) for row in range(len(cells))], colour, size)
    y, names = labels_of(read.frame[roles.label], roles.task, read.place)
    truth = {} if roles.group is None else {roles.group: groups_of(read.frame[roles.group])}
    client = None if roles.client is None else read.frame[roles.client].astype(str)
    return classified(
        name,
        found.x,
        y,
        where=where,
        class_names=names,
        client=None if client is None else text(client.to_numpy(dtype=str), where),
        official_test=official_of(read),
        truth=truth | about_of(read, lists["about"]),
    )._replace(
        group=roles.group,
        said=(*changes(found, () if client is None else [*client]), *_others(left)),
    )


def _others(columns: Sequence[str]) -> list[str]:
    """What is said of columns of images beside the first."""
    if len(columns) == 1:
        return []
    return [
        f"of the columns of images {', '.join(columns)} the first is taken: "
        f'data.drop=["{columns[0]}"] takes the next'
    ]


def _refuse_keys_of_tables(where: str, roles: Roles) -> None:
    for key in OF_TABLES:
        if getattr(roles, key) != Roles._field_defaults[key]:
            raise FedkinError(f"{where} holds images, and data.{key} is for tables: leave it out")
