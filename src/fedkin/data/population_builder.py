"""A data set, a partition and split fractions into a Population: the one path from files to
clients.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints
from fedkin.data.division import public_first, public_last
from fedkin.data.holdout import Fractions, Holdout, holdout, official_and_rest, whole_clients
from fedkin.data.left_out import in_no_split, not_chosen, over_clients, too_small, why_left_out
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
    _check_choices(
        pool=(pool, ("train", "all")),
        test=(test, ("holdout", "official")),
        empty=(empty, ("error", "drop")),
    )
    group = _group_name(source, group, partition_name)
    groups = None if group is None else _group(source, group)
    official = source.official_test if test == "official" else None
    fits = partial(_serves, fractions=fractions, official=official, groups=groups)
    large_enough = partial(_large_enough, least=least, fits=fits if empty == "drop" else None)
    divide = partial(
        _partition, source, partition_name, clients, key, params=partition_params or {}
    )

    def hold_out(indices: Sequence[Ints]) -> Ints:
        return _apart(large_enough(indices), apart, key)

    rows = _pool(source, pool, test)
    part, indices, drawn, held_out = (
        public_last(source, public, rows, key, groups, divide, hold_out)
        if public is not None and public.source is None and apart
        else public_first(source, public, rows, key, groups, divide)
    )
    names = tuple(str(name) for name in part.truth.get("name", np.arange(len(indices))))
    everyone = _Clients(indices, names, _truth(source, partition_name, part))
    kept = large_enough(indices)
    if empty == "drop" or least:
        members = _only(everyone, kept, source, part, least)
        left_out = too_small(indices, names, kept, least)
    else:
        members, left_out = everyone, []
    splits = holdout(
        members.indices, key, fractions, official=official, group=groups, names=members.names
    )
    is_apart = np.isin(kept, _apart(kept, apart, key) if held_out is None else held_out)
    if is_apart.all():
        why = why_left_out(indices, kept, least)
        raise FedkinError(f"{source.name}: all clients but those held out {why}")
    said = (
        *source.said,
        *not_chosen(source, part),
        *left_out,
        *(() if drawn is None else drawn.said),
        *in_no_split(splits, group),
        *over_clients(source, partition_name, groups, group, members.indices),
    )
    members = members._replace(truth=members.truth | _shares(splits, fractions))
    name = _name(source, partition_name, pool)
    population = _population(name, source, drawn, members, splits, is_apart, group, said)
    if public is not None and drawn is not None:
        population = _with_public(population, drawn, public.source or source)
    check_population(population)
    return population


class _Clients(NamedTuple):
    """Who has which rows: ``indices`` and ``names`` by client, ``truth`` as a Population has it."""

    indices: Sequence[Ints]
    names: tuple[str, ...]
    truth: dict[str, Array]


def _population(
    name: str,
    source: Source,
    drawn: Drawn | None,
    members: _Clients,
    splits: Holdout,
    is_apart: npt.NDArray[np.bool_],
    group: str | None,
    said: tuple[str, ...],
) -> Population:
    """The clients with their splits, encoded; ``is_apart``: who is held out as a whole."""
    encoding = _fitted(source, splits, is_apart)
    return Population(
        name=name,
        x=torch.from_numpy(_encoded(source, source.x, encoding)),
        y=torch.from_numpy(source.y),
        classes=source.classes + (0 if drawn is None else drawn.classes),
        task=source.task,
        train=tuple(splits.train),
        val=tuple(splits.val),
        test=tuple(splits.test),
        truth=members.truth,
        names=members.names,
        class_names=_class_names(source, drawn),
        encoding=encoding,
        apart=tuple(np.flatnonzero(is_apart).tolist()),
        group=group,
        said=said,
    )


def _only(everyone: _Clients, kept: Ints, source: Source, part: Partition, least: int) -> _Clients:
    """The clients that are kept, and as ``truth["kept"]`` the numbers that they had."""
    if not len(kept):
        why = why_left_out(everyone.indices, kept, least)
        raise FedkinError(f"{source.name}: no client is left, all {why}")
    by_client = _by_client(source, part)
    truth = {k: v[kept] if k in by_client else v for k, v in everyone.truth.items()}
    return _Clients(
        [everyone.indices[k] for k in kept],
        tuple(everyone.names[k] for k in kept),
        truth | {"kept": kept},
    )


def _fitted(source: Source, splits: Holdout, is_apart: npt.NDArray[np.bool_]) -> Encoding | None:
    """The encoding of a table, of the training rows of clients that are not held out as a whole."""
    if source.columns is None:
        return None
    seen = [splits.train[client] for client in np.flatnonzero(~is_apart)]
    return fit(source.columns, source.x, np.concatenate(seen))


def _with_public(population: Population, drawn: Drawn, origin: Source) -> Population:
    """With the public set, which ``origin`` is the source of."""
    x = torch.from_numpy(_encoded(origin, drawn.x, population.encoding))
    y = None if drawn.y is None else torch.from_numpy(drawn.y)
    return replace(population, public=x, public_y=y)


def _group_name(source: Source, group: str | None, partition_name: str) -> str | None:
    """What keeps rows in one split; the source's own where clients are the natural ones."""
    if group is None and partition_name == "natural":
        return source.group
    return None if group == "none" else group


def _large_enough(indices: Sequence[Ints], least: int, fits: Callable[[Ints], bool] | None) -> Ints:
    """The clients that are large enough."""
    enough = [len(rows) >= least and (fits is None or fits(rows)) for rows in indices]
    return np.flatnonzero(enough)


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
    if clashes := sorted(truth.keys() & {*part.truth, *OWN} - {"natural"}):
        raise FedkinError(
            f"{source.name}: column {clashes[0]!r} has a name that split.name={name} gives to a "
            "fact of its own: rename the column"
        )
    if name == "natural" and source.client is not None:
        # Rows of per-client truth follow the sorted labels of ALL natural clients of the source.
        everyone = np.unique(source.client)
        place = np.searchsorted(everyone, part.truth["name"])
        truth |= {k: source.truth[k][place] for k in source.per_client}
    return truth | {k: v for k, v in part.truth.items() if k != "natural"}


def _by_client(source: Source, part: Partition) -> set[str]:
    return {*source.per_client, *part.truth} - {"class_group"}


def _shares(splits: Holdout, fractions: Fractions) -> dict[str, Array]:
    return {"train_share": splits.share} if fractions == "comet" else {}


def _serves(rows: Ints, fractions: Fractions, official: Array | None, groups: Array | None) -> bool:
    parts = [1.0, 1.0, 1.0] if isinstance(fractions, str) else list(fractions)
    if official is not None:
        if not official[rows].any():
            return False
        rows, parts = official_and_rest(rows, official, groups)[1], parts[:2]
    units = len(rows) if groups is None else len(np.unique(groups[rows]))
    return bool(units >= sum(f > 0 for f in parts))


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


def _check_choices(**choices: tuple[str, Sequence[str]]) -> None:
    for key, (value, allowed) in choices.items():
        if value not in allowed:
            raise FedkinError(
                f"{key}={value!r} is not known: use {' or '.join(repr(a) for a in allowed)}"
            )
