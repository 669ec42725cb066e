"""What is said of the rows and clients that a division leaves out, and of groups that it parts."""

from collections.abc import Sequence

import numpy as np

from fedkin.core.errors import many, some
from fedkin.data.arrays import Array, Ints
from fedkin.data.holdout import Holdout
from fedkin.data.partitions.registry import Partition
from fedkin.data.source import Source

SMALL = "are too small for the splits"


def not_chosen(source: Source, part: Partition) -> list[str]:
    """Natural clients beside those that were asked for.

    Args:
        source: All samples.
        part: Its division over clients.

    Returns:
        [] or one sentence.
    """
    if source.client is None or "natural" not in part.truth:
        return []
    there, drawn = len(np.unique(source.client)), len(part.indices)
    if drawn == there:
        return []
    rows = len(source.client) - int(np.isin(source.client, part.truth["name"]).sum())
    return [
        f"{drawn:,} of the {there:,} natural clients were drawn, as run.clients asks; the "
        f"other {there - drawn:,} "
        f"{'holds' if there - drawn == 1 else 'hold'} {rows:,} rows"
    ]


def too_small(
    indices: Sequence[Ints], names: Sequence[str], kept: Ints, least: int = 0
) -> list[str]:
    """Clients that have too few samples.

    Args:
        indices: The rows of each client, of those too that are left out.
        names: Of the clients.
        kept: Numbers of those that stay.
        least: The fewest samples of a client that stays, whatever the splits need.

    Returns:
        A sentence for each reason that there is.
    """
    gone = np.setdiff1d(np.arange(len(indices)), kept).tolist()
    few = [k for k in gone if len(indices[k]) < least]
    rest = [k for k in gone if len(indices[k]) >= least]
    return [
        f"{len(who)} of {len(indices)} clients {what} left out, "
        f"{sum(len(indices[k]) for k in who)} rows: {some(names[k] for k in who)}"
        for who, what in ((few, f"{_few(least)} and are"), (rest, f"{SMALL} and"))
        if who
    ]


def why_left_out(indices: Sequence[Ints], kept: Ints, least: int) -> str:
    """Why clients are left out, as the end of a sentence about all of them.

    Args:
        indices: The rows of each client, of those too that are left out.
        kept: Numbers of those that stay.
        least: The fewest samples of a client that stays.

    Returns:
        What they are.
    """
    gone = np.setdiff1d(np.arange(len(indices)), kept)
    few = [len(indices[k]) < least for k in gone]
    if not any(few):
        return SMALL
    return _few(least) if all(few) else f"{_few(least)} or {SMALL}"


def _few(least: int) -> str:
    return f"have fewer than {least:,} samples (split.least)"


def in_no_split(held: Holdout, group: str | None) -> list[str]:
    """Rows that may be in no part of their client's samples.

    Args:
        held: The parts.
        group: What keeps rows in one split.

    Returns:
        [] or one sentence.
    """
    if not held.parted:
        return []
    return [
        f"{many(held.parted, 'row is', 'rows are')} in no split: they belong together ({group}) "
        "with official test rows of the same client"
    ]


def over_clients(
    source: Source,
    partition_name: str,
    groups: Array | None,
    group: str | None,
    indices: Sequence[Ints],
) -> list[str]:
    """What no split of a client undoes: a group of the source of which clients have a part each.

    Args:
        source: All samples.
        partition_name: How clients come by them.
        groups: The group of each row [n]; None: rows stand one by one.
        group: What keeps rows in one split.
        indices: The rows of each client.

    Returns:
        [] or one sentence.
    """
    if partition_name == "natural" or groups is None or group != source.group:
        return []
    held = np.concatenate([np.unique(groups[mine]) for mine in indices])
    shared = int((np.unique(held, return_counts=True)[1] > 1).sum())
    if not shared:
        return []
    return [
        f"{many(shared, 'value')} of {group!r} {'has' if shared == 1 else 'have'} rows at several "
        f"clients, as {partition_name} divides them: what one trains on, another may be tested on"
    ]
