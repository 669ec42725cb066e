"""What the columns of a table are likely to be for, before anybody has said so."""

import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fedkin.data.formats.frames import READERS, Style, read_file, tables_in
from fedkin.data.formats.memory import within_room
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.problem import Unreadable, merged
from fedkin.data.tables.client_names import names_people

OUTCOME = re.compile(
    "(label|target|outcome|class|y|result|diagnosis|response|died|death|survived|churn|fraud"
    "|default|price|score|failure|readmitted)(value|class|label|code)?"
)


class Proposals(NamedTuple):
    """The columns of a table, and who they may be.

    Attributes:
        columns: Their names, in the table's order.
        label: What is likely to be predicted: a column with such a name, else the last one.
        clients: Columns that look as if they named clients, with how many values each has.
        folder: Whether the files of a folder are the clients already.
    """

    columns: tuple[str, ...]
    label: str
    clients: dict[str, int]
    folder: bool


def proposals(path: Path) -> Proposals | None:
    """The proposals for a table, or for a folder with a table for each client.

    Args:
        path: The file or the folder.

    Returns:
        None for what is no table, of which nothing is asked.

    Raises:
        FedkinError: A file that cannot be read.
    """
    folder = path.is_dir()
    if folder:
        files = tables_in(path)
        if not files:
            return None
        path = files[0]
    if path.suffix.lower() not in READERS:
        return None
    with within_room(path):
        frame = _frame(path)
    names = [str(name) for name in frame.columns]
    labels = [name for name in names if OUTCOME.fullmatch(re.sub(r"[\W_]", "", name).lower())]
    clients = {}
    for name in filter(names_people, () if folder else names):
        values = int(frame[name].nunique())
        if 2 <= values <= len(frame) / FEWEST:
            clients[name] = values
    label = labels[0] if labels else next(name for name in reversed(names) if name not in clients)
    return Proposals(tuple(names), label, clients, folder)


def _frame(path: Path) -> pd.DataFrame:
    """The rows, as they are read once separator and encoding are mended; what is asked here needs
    no more.
    """
    style = Style()
    for _ in ("separator", "encoding"):
        try:
            return read_file(path, style).frame
        except Unreadable as error:
            fix = merged([problem.fix for problem in error.problems])
            known = {name: fix.get(f"data.{name}") for name in ("separator", "encoding")}
            style = style._replace(**{name: one for name, one in known.items() if one})
    return read_file(path, style).frame
