"""The records as pandas DataFrames, for the Python interface.

One row a record; client names come from ``clients``.
"""

from pathlib import Path

import pandas as pd

from fedkin.core.kinds import KINDS
from fedkin.report.records import Run, opened
from fedkin.runs.bounds import are_counts, are_numbers

__all__ = ["clients", "communication", "metrics", "notes", "rounds"]


def metrics(folder: Path) -> pd.DataFrame:
    """What each client's evaluation of each round found, on every split.

    Args:
        folder: The run directory.

    Returns:
        round, client, name, view, split, samples, loss (mean per sample), accuracy (a fraction);
        nan where nothing was measured.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(folder) as run:
        rows = run.rows("SELECT round, client, view, split, loss, accuracy FROM metrics")
        frame = pd.DataFrame(rows, columns=["round", "client", "view", "split", "loss", "accuracy"])
        frame = frame.astype({"loss": float, "accuracy": float})
        frame.insert(2, "name", frame["client"].map(_names(run)))
        sizes = {
            (k, split): getattr(c, split)
            for k, c in run.clients.items()
            for split in ("train", "val", "test")
        }
        frame.insert(
            5,
            "samples",
            [sizes.get(key, 0) for key in zip(frame["client"], frame["split"], strict=True)],
        )
        return frame


def rounds(folder: Path) -> pd.DataFrame:
    """What each round took.

    Args:
        folder: The run directory.

    Returns:
        round, phase, participants (their number), missing (clients left out), and seconds_… of each
        part.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(folder) as run:
        left = dict(
            run.rows("SELECT round, count(*) FROM events WHERE kind = 'missing' GROUP BY round")
        )
        rows = [
            {
                "round": at,
                "phase": phase,
                "participants": len(run.read(who, are_counts)),
                "missing": left.get(at, 0),
            }
            | {f"seconds_{part}": spent for part, spent in run.read(seconds, are_numbers).items()}
            for at, phase, who, seconds in run.rows("SELECT * FROM rounds ORDER BY round")
        ]
        return (
            pd.DataFrame(rows)
            if rows
            else pd.DataFrame(columns=["round", "phase", "participants", "missing"])
        )


def communication(folder: Path) -> pd.DataFrame:
    """What was sent.

    Args:
        folder: The run directory.

    Returns:
        round, phase, client, name, direction, copy (0: the first of a broadcast), bytes, and
        scalars by kind.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(folder) as run:
        columns = ["round", "phase", "client", "direction", "copy", "bytes", *KINDS]
        frame = pd.DataFrame(
            run.rows(f"SELECT {', '.join(columns)} FROM messages"), columns=columns
        )
        frame.insert(3, "name", frame["client"].map(_names(run)))
        return frame


def notes(folder: Path) -> pd.DataFrame:
    """What the method says of its rounds.

    Args:
        folder: The run directory.

    Returns:
        round, client (-1: the federation), client_name, name, value (as JSON has it).

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(folder) as run:
        rows = [
            (at, client, run.name(client), name, run.read(value))
            for at, client, name, value in run.rows(
                "SELECT round, client, name, value FROM notes ORDER BY round, client, name"
            )
        ]
        return pd.DataFrame(rows, columns=["round", "client", "client_name", "name", "value"])


def clients(folder: Path) -> pd.DataFrame:
    """Who took part in the run.

    Args:
        folder: The run directory.

    Returns:
        client, name, architecture, samples in train, val and test, histogram (list: training
        samples by class).

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    with opened(folder) as run:
        columns = ["client", "name", "architecture", "train", "val", "test", "histogram"]
        return pd.DataFrame(list(run.clients.values()), columns=columns)


def _names(run: Run) -> dict[int, str]:
    return {k: client.name for k, client in run.clients.items()}
