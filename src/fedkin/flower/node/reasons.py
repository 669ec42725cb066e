"""What of an error leaves the node: where it is, and never what stands there. The whole sentence
goes to the host's own log.
"""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from fedkin.core.escaping import plain
from fedkin.flower.node.advice import on_a_node

# As fedkin.data begins its sentences; whatever follows may quote a cell. A name that is there twice
# may be a cell as well: of a file without a line of names.
PLACE = re.compile(
    r"(?:, (?:line (?P<line>\d+)|row (?P<row>\d+)))?"
    r"(?:: column (?P<column>'[^']*'|\"[^\"]*\")(?! appears twice))?"
)


def of_data(error: Exception, path: Path) -> str:
    """What others are told of data that cannot be read.

    Args:
        error: Names the file first, and then perhaps a line and a column.
        path: The file.

    Returns:
        A sentence without any word of the file but the column's name.
    """
    if not os.path.lexists(path):
        return f"its data cannot be read: {path.name} is not there"
    message = str(error)
    logged(on_a_node(message))
    match = PLACE.match(message.removeprefix(str(path)))
    place = match.groupdict() if match is not None and message.startswith(str(path)) else {}
    where = [f"{what} {value}" for what in ("line", "row", "column") if (value := place.get(what))]
    return f"its data cannot be read: {', '.join([path.name, *where])}: its log says what is wrong"


def of_failure(error: Exception) -> str:
    """What others are told of an exception that no check foresaw: its text may hold anything.

    Args:
        error: Of anybody's code.

    Returns:
        The name of its class.
    """
    name = type(error).__name__
    logged(f"{name}: {error}")
    return f"{name}, of which its log says more"


def without_folder_paths(why: str, folders: Iterable[Path]) -> str:
    """A reason for others, in which files have the names that they have in the node's folder.

    Args:
        why: Of any error.
        folders: Whose paths are nobody's business.

    Returns:
        The same, without them.
    """
    for place in sorted({f"{one}{os.sep}" for one in folders}, key=len, reverse=True):
        why = why.replace(place, "")
    return why


def logged(text: str) -> None:
    """To the node's operator, and nobody else. What a server or a file says in it may not command
    the terminal.

    Args:
        text: As the error has it.
    """
    print(plain(text), file=sys.stderr, flush=True)
