"""What clients say of an evaluation under masks: numbers whose sums are the federation's means.

Every client sends as many numbers, whatever its method, its data or its models: a weight and a
weighted value for each place of ``PLACES``. What it has no value for has weight 0. One place of
each view and split counts the clients that have samples there, and those among them whose loss is
no number. Notes are of one client, and stay with it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.measures import MEASURES
from fedkin.core.tree import Tree
from fedkin.data.population import SPLITS
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_numbers import MOST, largest_of
from fedkin.runs.record import FEDERATION

VIEWS = ("personal", "global")
LOST = "lost"  # the place that counts clients: with samples, and of them without a finite loss
DIGITS = MOST  # of 40 bits: numbers up to 2^97; a million clients' sum stays below the field
LARGEST = largest_of(DIGITS)  # a value times its weight beyond it counts as none


class Place(NamedTuple):
    """Where a number stands: loss and accuracy are scores, the others but ``LOST`` measures."""

    view: str
    split: str
    name: str


def _places() -> Iterator[Place]:
    for view in VIEWS:
        for split in SPLITS:
            yield from (Place(view, split, name) for name in ("loss", "accuracy"))
        for split in SPLITS[1:]:
            yield from (Place(view, split, f"measure {name}") for name in MEASURES)
            yield Place(view, split, LOST)


PLACES = tuple(_places())


class Means(NamedTuple):
    """Of the federation, as a record holds them: scores by client, measures, and of each the
    clients (``Record.counted``).
    """

    scores: dict[int, dict[str, dict[str, tuple[float, float]]]]
    measures: dict[int, dict[str, dict[str, dict[str, float]]]]
    counted: dict[str, dict[str, tuple[int, int]]]


def numbers_of(record: Evaluation, samples: Mapping[str, int]) -> Tree:
    """What a client sends of its evaluation.

    Args:
        record: Of it, scores and measures.
        samples: Its "val" and "test" samples. What it measured on validation samples is weighted by
            their number; train and test count alike for every client.

    Returns:
        {"scores": [places, 2]}: weight, and weight · value; 0 and 0 for what is not finite, or
        above ``LARGEST``.
    """
    rows = []
    for place in PLACES:
        if place.name == LOST:
            rows.append(_lost(record, place, samples))
            continue
        value = _value(record, place)
        weight = float(samples["val"]) if place.split == "val" else 1.0
        known = _is_number(value, weight)
        rows.append([weight, weight * value] if known else [0.0, 0.0])
    return {"scores": torch.tensor(rows, dtype=torch.float64)}


def _lost(record: Evaluation, place: Place, samples: Mapping[str, int]) -> list[float]:
    size = samples[place.split]
    if not size or place.split not in record.scores.get(place.view, {}):
        return [0.0, 0.0]
    weight = float(size) if place.split == "val" else 1.0
    loss = _value(record, place._replace(name="loss"))
    return [1.0, 0.0 if _is_number(loss, weight) else 1.0]


def _is_number(value: float, weight: float) -> bool:
    return math.isfinite(value) and abs(weight * value) <= LARGEST


def blank() -> Tree:
    """A message of the same form."""
    return {"scores": torch.zeros(len(PLACES), 2, dtype=torch.float64)}


def means_of(mean: Tree, clients: int) -> Means:
    """The federation's means, from the mean of clients' numbers.

    Args:
        mean: {"scores": [places, 2]}.
        clients: How many clients it is of.

    Returns:
        All of it under the number of the federation; a view that nobody has is not there, but for
        the personal one. A validation loss is nan where that of a client with validation samples
        is no number: a model that diverged is worse than any, whatever the others have.
    """
    table: Tensor = mean["scores"]
    sums = {
        place: (weight, value)
        for place, (weight, value) in zip(PLACES, table.tolist(), strict=True)
        if weight > 0
    }
    found = {place: value / weight for place, (weight, value) in sums.items()}
    for view in VIEWS:
        if found.get(Place(view, "val", LOST)):
            found[Place(view, "val", "loss")] = math.nan
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
        {FEDERATION: scores},
        {FEDERATION: {view: by for view, by in measures.items() if by}},
        {view: _counted(sums, clients, view) for view in views},
    )


def _counted(
    sums: Mapping[Place, tuple[float, float]], clients: int, view: str
) -> dict[str, tuple[int, int]]:
    """{loss, accuracy or a measure on test: (clients in the mean, others with test samples)}."""
    tested, _ = sums.get(Place(view, "test", LOST), (0.0, 0.0))
    asked = round(tested * clients)
    of_view = [p for p in PLACES if p.view == view and p.split == "test" and p.name != LOST]
    # scores last: a measure that is a score as well (the log-loss) is counted as one
    ordered = sorted(of_view, key=lambda place: not place.name.startswith("measure "))
    counted = {}
    for place in ordered:
        known = round(sums.get(place, (0.0, 0.0))[0] * clients)
        counted[place.name.removeprefix("measure ")] = (known, max(0, asked - known))
    return counted


def _measures(found: Mapping[Place, float], view: str) -> dict[str, dict[str, float]]:
    by_split: dict[str, dict[str, float]] = {}
    for place, value in found.items():
        kind, _, name = place.name.partition(" ")
        if place.view == view and kind == "measure":
            by_split.setdefault(place.split, {})[name] = value
    return by_split


def _value(record: Evaluation, place: Place) -> float:
    """nan where a client has none."""
    kind, _, name = place.name.partition(" ")
    if kind == "measure":
        named = record.measures.get(place.view, {}).get(place.split, {})
        return float(named.get(name, math.nan))
    pair = record.scores.get(place.view, {}).get(place.split, (math.nan, math.nan))
    return float(pair[0 if kind == "loss" else 1])
