"""What clients say of an evaluation under masks: numbers whose sums are the federation's means.

Every client sends as many numbers, whatever its method, its data or its models: a weight and a
weighted value for each place of ``PLACES``. What it has no value for has weight 0. Notes are of one
client, and stay with it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.measures import MEASURES
from fedkin.core.tree import Tree
from fedkin.data.population import SPLITS
from fedkin.runs.record import FEDERATION

VIEWS = ("personal", "global")
DIGITS = 3  # of 40 bits: numbers up to 2^57
LARGEST = 1e6  # a loss or a measure beyond it counts as none


class Place(NamedTuple):
    """Where a number stands: loss and accuracy are scores, the others measures."""

    view: str
    split: str
    name: str


def _places() -> Iterator[Place]:
    for view in VIEWS:
        for split in SPLITS:
            yield from (Place(view, split, name) for name in ("loss", "accuracy"))
        for split in SPLITS[1:]:
            yield from (Place(view, split, f"measure {name}") for name in MEASURES)


PLACES = tuple(_places())


class Means(NamedTuple):
    """Of the federation, as a record holds them: scores by client, and measures."""

    scores: dict[int, dict[str, dict[str, tuple[float, float]]]]
    measures: dict[int, dict[str, dict[str, dict[str, float]]]]


def numbers_of(record: Mapping[str, Any], validation: int) -> Tree:
    """What a client sends of its evaluation.

    Args:
        record: Its "scores" {view: {split: (loss, accuracy)}} and "measures".
        validation: Its validation samples, the weight of what it measured on them. Train and test
            count alike for every client.

    Returns:
        {"scores": [places, 2]}: weight, and weight · value.
    """
    rows = []
    for place in PLACES:
        value = _value(record, place)
        weight = float(validation) if place.split == "val" else 1.0
        known = math.isfinite(value) and abs(value) <= LARGEST
        rows.append([weight, weight * value] if known else [0.0, 0.0])
    return {"scores": torch.tensor(rows, dtype=torch.float64)}


def blank() -> Tree:
    """A message of the same form."""
    return {"scores": torch.zeros(len(PLACES), 2, dtype=torch.float64)}


def means_of(sums: Tree) -> Means:
    """The federation's means, from the sums of clients' numbers, or from any multiple of them.

    Args:
        sums: {"scores": [places, 2]}.

    Returns:
        All of it under the number of the federation; a view that nobody has is not there, but for
        the personal one.
    """
    table: Tensor = sums["scores"]
    found = {
        place: value / weight
        for place, (weight, value) in zip(PLACES, table.tolist(), strict=True)
        if weight > 0
    }
    views = [view for view in VIEWS if view == VIEWS[0] or any(p.view == view for p in found)]
    scores: dict[str, dict[str, tuple[float, float]]] = {
        view: {
            split: (
                found.get(Place(view, split, "loss"), math.nan),
                found.get(Place(view, split, "accuracy"), math.nan),
            )
            for split in SPLITS
            if split != "train" or Place(view, split, "loss") in found
        }
        for view in views
    }
    measures = {view: _measures(found, view) for view in views}
    return Means(
        {FEDERATION: scores}, {FEDERATION: {view: by for view, by in measures.items() if by}}
    )


def _measures(found: Mapping[Place, float], view: str) -> dict[str, dict[str, float]]:
    by_split: dict[str, dict[str, float]] = {}
    for place, value in found.items():
        kind, _, name = place.name.partition(" ")
        if place.view == view and kind == "measure":
            by_split.setdefault(place.split, {})[name] = value
    return by_split


def _value(record: Mapping[str, Any], place: Place) -> float:
    """nan where a client has none."""
    kind, _, name = place.name.partition(" ")
    if kind == "measure":
        named = record.get("measures", {}).get(place.view, {}).get(place.split, {})
        return float(named.get(name, math.nan))
    pair = record["scores"].get(place.view, {}).get(place.split, (math.nan, math.nan))
    return float(pair[0 if kind == "loss" else 1])
