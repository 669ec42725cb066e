"""A data set, a partition and split fractions into a Population: the one path from files to
clients.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from fedkin.core.errors import FedkinError, many, some
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints
from fedkin.data.division import public_first, public_last
from fedkin.data.holdout import Fractions, Holdout, holdout, official_and_rest, whole_clients
from fedkin.data.partitions.registry import PARTITIONS, Partition, partition
from fedkin.data.population import Population
from fedkin.data.public import Drawn, Public
from fedkin.data.source import Source
from fedkin.data.tables.duplicate_rows import same_rows
from fedkin.data.tables.encoding import Encoding, fit
from fedkin.data.validation import check_population

__all__ = ["build"]

DUPLICATES = "duplicates"  # a group that every source has: samples that are equal

OWN = ("kept", "train_share")  # facts that are added here to those of a partition


def build(
    source: Source,
    partition_name: str,
    clients: int | None,
    key: Key,
    *,
    partition_params: Mapping[str, Any] | None = None,
    fractions: Fractions = (0.6, 0.2, 0.2),
    pool: Literal["train", "all"] = "train",
    public: Public | None = None,
    test: Literal["holdout", "official"] = "holdout",
    group: str | None = None,
    empty: Literal["error", "drop"] = "error",
    apart: float = 0.0,
    least: int = 0,
) -> Population:
    """A checked Population. Equal arguments give equal populations, sample for sample.

    pool: "train" divides only the official training rows where the source has an official test set,
    and leaves the official test rows unused; "all" merges both before dividing (as COMET, PersFL
    and PPFL do). Sources without an official test set are divided whole. Merging silently is a
    known trap, so the name of the population says it. test: "official" makes each client's test set
    of the official test rows it holds (needs pool="all"). public: drawn first; held-out rows leave
    the pool before it is divided, and none of them are those of clients apart. group: the key of
    ``source.truth`` whose equal values stay in one split ("bout"); None takes the source's own
    where clients are the natural ones, "none" is rows one by one, "duplicates" keeps equal samples
    of a client together. empty: "drop" leaves out clients too small for the splits, and
    ``truth["kept"]``, one a client, says which numbers are left; "error" refuses them. least:
    clients with fewer samples are left out too. apart: a share of the clients, whom nothing that is
    learned may know (``Population.apart``). clients: None takes all natural clients. truth: the
    partition's, the rows of the source's per-client truth (natural partition only), its other
    truth, and "train_share" for fractions="comet".

    Args:
        source: All samples.
        partition_name: A key of PARTITIONS.
        clients: How many; None: as many as there are natural ones.
        key: Names the random streams of division.
        partition_params: The partition's own parameters.
        fractions: Of training, validation and test, or "comet".
        pool: "train" or "all": whether official test rows are divided too.
        public: What public samples are drawn, and from where.
        test: "holdout" or "official": what a client's test set is made of.
        group: What stays in one split; None: as the source says.
        empty: "error" or "drop": what becomes of clients that are too small.
        apart: The share of clients in 0..1 that is held out as a whole.
        least: The fewest samples of a client that stays.

    Returns:
        Rows of every client and split, and the samples.

    Raises:
        FedkinError: What is asked for does not fit the data, or each other.
    """
    _choices(
        pool=(pool, ("train", "all")),
        test=(test, ("holdout", "official")),
        empty=(empty, ("error", "drop")),
    )
    group = _group_name(source, group, partition_name)
    groups = None if group is None else _group(source, group)
    official = source.official_test if test == "official" else None
    fits = partial(_serves, fractions=fractions, official=official, groups=groups)
    kept_of = partial(_kept, least=least, fits=fits if empty == "drop" else None)
    rows = _pool(source, pool, test)
    divide = partial(
        _partition, source, partition_name, clients, key, params=partition_params or {}
    )

    def hold_out(indices: Sequence[Ints]) -> Ints:
        return _apart(kept_of(indices), apart, key)

    part, indices, drawn, held_out = (
        public_last(source, public, rows, key, groups, divide, hold_out)
        if public is not None and public.source is None and apart
        else public_first(source, public, rows, key, groups, divide)
    )
    names = tuple(str(name) for name in part.truth.get("name", np.arange(len(indices))))
    truth = _truth(source, partition_name, part)
    left_out: list[str] = []
    kept = kept_of(indices)
    if empty == "drop" or least:
        truth = {k: v[kept] if k in _by_client(source, part) else v for k, v in truth.items()} | {
            "kept": kept
        }
        left_out = _left_out(indices, names, kept)
        indices, names = [indices[k] for k in kept], tuple(names[k] for k in kept)
        if not len(kept):
            raise FedkinError(f"{source.name}: no client is left, all are too small for the splits")
    held = holdout(indices, key, fractions, official=official, group=groups, names=names)
    left = np.isin(kept, _apart(kept, apart, key) if held_out is None else held_out)
    if left.all():
        raise FedkinError(
            f"{source.name}: all clients but those held out are too small for the splits"
        )
    seen = [held.train[client] for client in np.flatnonzero(~left)]
    encoding = (
        None if source.columns is None else fit(source.columns, source.x, np.concatenate(seen))
    )
    population = Population(
        name=_name(source, partition_name, pool),
        x=torch.from_numpy(_encoded(source, source.x, encoding)),
        y=torch.from_numpy(source.y),
        classes=source.classes + (0 if drawn is None else drawn.classes),
        task=source.task,
        train=tuple(held.train),
        val=tuple(held.val),
        test=tuple(held.test),
        public=None
        if drawn is None
        else torch.from_numpy(_encoded((public and public.source) or source, drawn.x, encoding)),
        public_y=None if drawn is None or drawn.y is None else torch.from_numpy(drawn.y),
        truth=truth | _shares(held, fractions),
        names=names,
        class_names=_class_names(source, drawn),
        encoding=encoding,
        apart=tuple(np.flatnonzero(left).tolist()),
        group=group,
        said=(
            *source.said,
            *_not_chosen(source, part),
            *left_out,
            *(() if drawn is None else drawn.said),
            *_in_no_split(held, group),
            *_over_clients(source, partition_name, groups, group, indices),
        ),
    )
    check_population(population)
    return population


def _group_name(source: Source, group: str | None, partition_name: str) -> str | None:
    """What keeps rows in one split; the source's own where clients are the natural ones."""
    if group is None and partition_name == "natural":
        return source.group
    return None if group == "none" else group


def _kept(indices: Sequence[Ints], least: int, fits: Callable[[Ints], bool] | None) -> Ints:
    """The clients that are large enough."""
    return np.flatnonzero([len(mine) >= least and (fits is None or fits(mine)) for mine in indices])


def _apart(kept: Ints, share: float, key: Key) -> Ints:
    """Which of the clients are held out as a whole."""
    return kept[whole_clients(len(kept), share, key)[1]] if share else kept[:0]


def _class_names(source: Source, drawn: Drawn | None) -> tuple[str, ...]:
    """The private classes, then those of a public set that has its own."""
    if drawn is None or not drawn.classes or not source.class_names:
        return source.class_names
    named = drawn.class_names or tuple(map(str, range(drawn.classes)))
    return (*source.class_names, *(f"public {name}" for name in named))


def _encoded(source: Source, x: Array, encoding: Encoding | None) -> Array:
    """Cells of a table as numbers; ``source`` is where they are from. Whatever else is as it is."""
    return (
        x
        if encoding is None or source.columns is None
        else encoding.encode(x, source.columns.columns)
    )


def _not_chosen(source: Source, part: Partition) -> list[str]:
    """Natural clients beside those that were asked for."""
    if source.client is None or "natural" not in part.truth:
        return []
    there, taken = len(np.unique(source.client)), len(part.indices)
    if taken == there:
        return []
    rows = len(source.client) - int(np.isin(source.client, part.truth["name"]).sum())
    return [
        f"{taken:,} of the {there:,} natural clients were drawn, as run.clients asks; the "
        f"other {there - taken:,} "
        f"{'holds' if there - taken == 1 else 'hold'} {rows:,} rows"
    ]


def _left_out(indices: Sequence[Ints], names: Sequence[str], kept: Ints) -> list[str]:
    gone = np.setdiff1d(np.arange(len(indices)), kept).tolist()
    if not gone:
        return []
    shown = some(names[k] for k in gone)
    rows = sum(len(indices[k]) for k in gone)
    return [
        f"{len(gone)} of {len(indices)} clients are too small for the splits and left out, "
        f"{rows} rows: {shown}"
    ]


def _in_no_split(held: Holdout, group: str | None) -> list[str]:
    if not held.parted:
        return []
    return [
        f"{many(held.parted, 'row is', 'rows are')} in no split: they belong together ({group}) "
        "with official test rows of the same client"
    ]


def _over_clients(
    source: Source,
    partition_name: str,
    groups: Array | None,
    group: str | None,
    indices: Sequence[Ints],
) -> list[str]:
    """What no split of a client undoes: a group of the source of which clients have a part each."""
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


def _pool(source: Source, pool: str, test: str) -> Ints:
    if test == "official":
        if source.official_test is None:
            raise FedkinError(f"{source.name} has no official test rows: use test='holdout'")
        if pool != "all":
            raise FedkinError(
                "test='official' needs pool='all', so that clients receive official test rows"
            )
    if source.official_test is None or pool == "all":
        return np.arange(len(source.x))
    return np.flatnonzero(~source.official_test)


def _partition(
    source: Source,
    name: str,
    clients: int | None,
    key: Key,
    rows: Ints,
    *,
    params: Mapping[str, Any],
) -> Partition:
    if name == "natural":
        if source.client is None:
            others = ", ".join(sorted({*PARTITIONS} - {"natural"}))
            raise FedkinError(
                f"{source.name} has no natural clients: choose another partition ({others})"
            )
        params = {**params, "client": source.client[rows]}
    elif clients is None:
        raise FedkinError(
            f"partition {name} needs a number of clients: only natural can do without"
        )
    return partition(name, source.y[rows], clients, key.numpy("partition"), **params)


def _truth(source: Source, name: str, part: Partition) -> dict[str, Array]:
    truth = {k: v for k, v in source.truth.items() if k not in source.per_client}
    if taken := sorted(truth.keys() & {*part.truth, *OWN} - {"natural"}):
        raise FedkinError(
            f"{source.name}: column {taken[0]!r} has a name that split.name={name} gives to a fact "
            "of its own: rename the column"
        )
    if name == "natural" and source.client is not None:
        # Rows of per-client truth follow the sorted labels of ALL natural clients of the source.
        everyone = np.unique(source.client)
        place = np.searchsorted(everyone, part.truth["name"])
        truth |= {k: source.truth[k][place] for k in source.per_client}
    return truth | {k: v for k, v in part.truth.items() if k != "natural"}


def _by_client(source: Source, part: Partition) -> set[str]:
    return {*source.per_client, *part.truth} - {"class_group"}


def _shares(held: Holdout, fractions: Fractions) -> dict[str, Array]:
    return {"train_share": held.share} if fractions == "comet" else {}


def _serves(mine: Ints, fractions: Fractions, official: Array | None, groups: Array | None) -> bool:
    parts = [1.0, 1.0, 1.0] if isinstance(fractions, str) else list(fractions)
    if official is not None:
        if not official[mine].any():
            return False
        mine, parts = official_and_rest(mine, official, groups)[1], parts[:2]
    have = len(mine) if groups is None else len(np.unique(groups[mine]))
    return bool(have >= sum(f > 0 for f in parts))


def _group(source: Source, group: str) -> Array:
    if group == DUPLICATES:
        return same_rows(source.x, source.y)
    fitting = [
        k for k, v in source.truth.items() if k not in source.per_client and len(v) == len(source.x)
    ]
    if group not in fitting:
        raise FedkinError(
            f"{source.name} has no row-wise truth {group!r} to group by: it has "
            f"{', '.join(fitting) or 'none'}"
        )
    return source.truth[group]


def _name(source: Source, partition_name: str, pool: str) -> str:
    merged = source.official_test is not None and pool == "all"
    return f"{source.name}/{partition_name}" + ("/train+test" if merged else "")


def _choices(**asked: tuple[str, Sequence[str]]) -> None:
    for key, (value, allowed) in asked.items():
        if value not in allowed:
            raise FedkinError(
                f"{key}={value!r} is not known: use {' or '.join(repr(a) for a in allowed)}"
            )
