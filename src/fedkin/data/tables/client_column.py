"""Columns of a table that look as if they named its clients, though nobody said so."""

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.holdout import FEWEST
from fedkin.data.quality.problem import typed_setting
from fedkin.data.source import Source
from fedkin.data.tables.client_names import names_people


def likely_clients(source: Source) -> dict[str, int]:
    """name → how many values it has, of the columns whose name and whose repeated values are those
    of clients.

    Args:
        source: The data as they were read.

    Returns:
        {} where the data name their clients, or are no table.
    """
    if source.client is not None or source.columns is None:
        return {}
    candidates: dict[str, int] = {}
    for at, column in enumerate(source.columns.columns):
        if not names_people(column.name) or column.text:
            continue
        values = len(column.values)
        if not values:
            cells = source.x[:, at]
            whole = bool((cells == np.rint(cells)).all())  # false where one is missing
            values = len(np.unique(cells)) if whole else 0
        if 2 <= values <= len(source.x) / FEWEST:
            candidates[column.name] = values
    return candidates


def ask_for_clients(source: Source) -> None:
    """Refuses to divide a table that looks as if it had clients among invented ones.

    Args:
        source: The data as they were read.

    Raises:
        FedkinError: A column looks like the clients; says how to take it.
    """
    likely = likely_clients(source)
    if likely:
        name, values = next(iter(likely.items()))
        raise FedkinError(
            f"{source.name}: column {name!r} ({values:,} values) looks like its clients: take "
            f"them with {typed_setting('data.client', name)}, or say --split iid (or "
            "dirichlet:0.5) to divide the rows among invented ones"
        )
