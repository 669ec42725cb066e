"""The public set: samples that every client and the server may see, from another data set or held
out of this one.
"""

from typing import Literal, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError, some
from fedkin.core.rng import Key
from fedkin.data.arrays import Array, Ints
from fedkin.data.source import Source
from fedkin.data.tables.recipe import same_columns

__all__ = ["Drawn", "Public", "draw"]


class Public(NamedTuple):
    """What is asked for: ``size`` samples from ``source`` (None: held out of the private data
    before it is divided).

    labeled: keep the labels (FedMD needs them), as the private classes are numbered. Otherwise they
    are stripped. own: they are classes of their own, numbered after the private ones: models have
    outputs for both (FedMD's CIFAR-100 beside CIFAR-10). Needs another source. groups: "whole"
    holds rows that belong together out together, "parted" row by row, whatever overlaps.
    """

    size: int = 2000
    source: Source | None = None
    labeled: bool = False
    own: bool = False
    groups: Literal["whole", "parted"] = "whole"


class Drawn(NamedTuple):
    """x: [p, ...] as the private samples; y: [p] labels or None; rows: what is left of the private
    pool (ascending); classes: how many there are beside the private ones; class_names: theirs, ()
    where they have none; said: of how many there are, where that is another number than was asked.
    """

    x: Array
    y: Array | None
    rows: Ints
    classes: int = 0
    class_names: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def draw(
    spec: Public,
    source: Source,
    rows: Ints,
    key: Key,
    *,
    group: Array | None = None,
    never: Ints | None = None,
) -> Drawn:
    """Draws the public samples at random, without repetition.

    From another source, its official test rows are left alone and sample shapes and type must equal
    the private ones: nothing is resized. From the same source, the chosen rows leave the private
    pool, and official test rows are never chosen; of groups whole ones are, in random order, as
    many as come nearest to the size, one at least.

    Args:
        spec: How many, of which source.
        source: The private data.
        rows: [n] rows of the source that may be divided.
        key: Names the random stream.
        group: [n] numbers that rows which belong together share; None: each stands alone.
        never: Rows of held-out clients, which are not chosen.

    Returns:
        The samples, their labels if any, and the rows that are left for clients.

    Raises:
        FedkinError: There are too few samples, or shapes or labels do not fit.
    """
    origin = spec.source or source
    if spec.own:
        _may_have_its_own(spec, source)
    if spec.source is not None:
        _fits(spec, source, spec.source)
    candidates = np.arange(len(origin.x)) if spec.source is not None else rows
    if origin.official_test is not None:
        candidates = candidates[~origin.official_test[candidates]]
    if never is not None and spec.source is None:
        candidates = np.setdiff1d(candidates, never, assume_unique=True)
    limit = len(candidates) if spec.source is not None else len(candidates) - 1
    if not 1 <= spec.size <= limit:
        raise FedkinError(
            f"public size={spec.size} is not possible: {origin.name} can give 1 to {limit} samples"
        )
    rng = key.numpy("public")
    if group is None or spec.groups == "parted" or spec.source is not None:
        chosen = np.sort(rng.choice(candidates, spec.size, replace=False))
    else:
        chosen = _whole_groups(spec.size, rows, candidates, group, rng, source.name)
    left = rows if spec.source is not None else np.setdiff1d(rows, chosen, assume_unique=True)
    if spec.own and spec.source is not None:
        y, other = source.classes + spec.source.y[chosen], spec.source
        return Drawn(origin.x[chosen], y, left, other.classes, other.class_names)
    y = None
    if spec.labeled:
        y = source.y if spec.source is None else _labels(source, spec.source)
    remarks = () if len(chosen) == spec.size else (_nearest(len(chosen), spec.size),)
    return Drawn(origin.x[chosen], None if y is None else y[chosen], left, said=remarks)


def _whole_groups(
    size: int,
    rows: Ints,
    candidates: Ints,
    group: Array,
    rng: np.random.Generator,
    name: str,
) -> Ints:
    """Groups in random order, cut where their rows come nearest to ``size``: one at least, and one
    at least stays private. Those of which some rows may not be public stay private as a whole.
    """
    barred = group[np.setdiff1d(rows, candidates, assume_unique=True)]
    free = rows[~np.isin(group[rows], barred)]
    numbers, place = np.unique(group[free], return_inverse=True)
    most = len(numbers) - (len(free) == len(rows))
    if most < 1:
        raise FedkinError(
            f"no group of rows of {name} can be held out as a whole for the public set: set "
            "public.groups to 'parted', or name another source"
        )
    order = rng.permutation(len(numbers))
    ends = np.cumsum(np.bincount(place)[order])[:most]
    count = 1 + int(np.argmin(np.abs(ends - size)))
    return free[np.isin(place, order[:count])]


def _nearest(rows: int, size: int) -> str:
    return (
        f"the public set has {rows:,} rows, not {size:,}: rows that belong together are held out "
        "together (public.groups = 'parted' takes them one by one)"
    )


def _may_have_its_own(spec: Public, source: Source) -> None:
    if not spec.labeled:
        raise FedkinError("public.labels = 'own' is for labels: set public.labeled = true too")
    if spec.source is None:
        raise FedkinError(
            "a held-out public set has the private labels: set public.labels to 'private', "
            "or name another source"
        )
    if source.task != "classification":
        raise FedkinError(
            f"public.labels = 'own' is for classes, {source.name} is for {source.task}: use "
            "'private'"
        )


def _fits(spec: Public, source: Source, other: Source) -> None:
    if source.columns is not None and other.columns is not None:
        same_columns(source.columns.columns, other.columns.columns, other.name)
    elif source.columns is not None or other.columns is not None:
        raise FedkinError(
            f"{other.name} and {source.name} must both be tables: hold the public set out of "
            f"{source.name}"
        )
    if other.x.shape[1:] != source.x.shape[1:]:
        raise FedkinError(
            f"public samples of {other.name} have shape {other.x.shape[1:]}, but {source.name} has "
            f"{source.x.shape[1:]}: choose a set of the same shape, or hold the public set "
            f"out of {source.name}"
        )
    if other.x.dtype.kind == "i":
        raise FedkinError(
            f"symbols of {other.name} have other numbers than those of {source.name}: hold "
            "the public set out of it "
            "(public source 'held-out')"
        )
    if other.x.dtype != source.x.dtype:
        raise FedkinError(
            f"public samples of {other.name} are {other.x.dtype}, but {source.name} has "
            f"{source.x.dtype}: "
            "choose a set of the same type"
        )
    if spec.labeled and other.task != source.task:
        raise FedkinError(
            f"public labels of {other.name} are for {other.task}, those of {source.name} for "
            f"{source.task}: set "
            "public.labeled to false, or choose another set"
        )


def _labels(source: Source, other: Source) -> Array:
    """Public labels as the private classes are numbered: by their names, for each table numbers its
    own.
    """
    ours, theirs = source.class_names, other.class_names
    if not ours and all(name.isdecimal() for name in theirs):
        ours = tuple(map(str, range(source.classes)))
    if not ours or not theirs:  # equal numbers are equal classes
        _few_enough(source, other)
        return other.y
    there = np.unique(other.y)
    unexpected = [theirs[label] for label in there if theirs[label] not in ours]
    if unexpected:
        raise FedkinError(
            f"public label {unexpected[0]!r} of {other.name} is none of the classes of "
            f"{source.name} ({some(ours, 9)}): "
            "leave out its rows, set public.labels to 'own' (classes after the private ones) "
            "or public.labeled to false"
        )
    numbers = np.zeros(other.classes, dtype=np.int64)
    numbers[there] = [ours.index(theirs[label]) for label in there]
    return numbers[other.y]


def _few_enough(source: Source, other: Source) -> None:
    if other.classes > source.classes:
        raise FedkinError(
            f"public labels of {other.name} ({other.classes} classes) do not fit models for "
            f"{source.name} "
            f"({source.classes} classes): set public.labels to 'own' (classes after the "
            "private ones) or "
            "public.labeled to false, or choose a set with at most as many classes"
        )
