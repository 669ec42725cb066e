"""A raw table as its owner has it, with advice for the commands that read one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.data.formats.frames import READERS, Read, Style, read_file
from fedkin.flower.node.advice import on_a_node

OPTION = re.compile(r"--set data\.(separator|decimal|encoding)=")  # what these commands have, too


def read_raw(table: Path, style: Style) -> Read:
    """The rows of a raw table.

    Args:
        table: .csv, .parquet or .arrow.
        style: How its text is written, and which columns are words.

    Returns:
        Its rows, and where each stands.

    Raises:
        FedkinError: It cannot be read, or is of another kind.
    """
    if table.suffix.lower() not in READERS:
        raise FedkinError(f"{table} is no table that can be prepared: give {', '.join(READERS)}")
    with errors_advised():
        return read_file(table, style)


@contextmanager
def errors_advised() -> Iterator[None]:
    """Errors about a raw table, with the advice of these commands.

    Yields:
        Nothing: what reads the table is inside the ``with``.

    Raises:
        FedkinError: The one that was raised inside, in other words.
    """
    try:
        yield
    except FedkinError as error:
        raise error.reworded(advised(str(error))) from error


def advised(sentence: str) -> str:
    """An error about a raw table, with the options of ``prepare`` and ``columns``.

    Args:
        sentence: As fedkin.data says it.

    Returns:
        It, without an option that these commands do not have.
    """
    own = OPTION.sub(r"--\1 ", sentence)
    return own if own != sentence else on_a_node(sentence)
