"""Evaluation under secure aggregation: each client sends numbers whose sums give the federation's
means.

First it is counted, under masks as well, how many clients have a value for each place of
``PLACES``; one place of each view and split counts those with samples there. Then clients are asked
for the places that enough of them have: a weight and a weighted value each, 0 and 0 of whoever has
none. What fewer have never leaves, as a sum of one would be that client's own number. Every client
sends as many numbers as the others, whatever its method, its data or its models. Notes are of one
client, and stay with it.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.measures import MEASURES
from fedkin.core.tree import Tree
from fedkin.data.population import SPLITS
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.masked_numbers import MOST, largest_of
from fedkin.masks.terms import LEAST
from fedkin.masks.wire import Refused
from fedkin.runs.record import FEDERATION

VIEWS = ("personal", "global")
LOST = "lost"  # counts clients with samples: of them, those without a loss have lost it
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
    clients (``Record.counted``). some_loss: whether any client has a finite one, known or
    not, or nobody has samples to have one of.
    """

    scores: dict[int, dict[str, dict[str, tuple[float, float]]]]
    measures: dict[int, dict[str, dict[str, dict[str, float]]]]
    counted: dict[str, dict[str, tuple[int, int]]]
    some_loss: bool


class ClientCounts(NamedTuple):
    """How many clients have a value for each place, and of how many clients that is."""

    having: Mapping[Place, int]
    clients: int


def presence_of(record: Evaluation, samples: Mapping[str, int]) -> Tree:
    """A client's first message: which places it has a value for.

    Args:
        record: Of it, scores and measures.
        samples: Its "val" and "test" samples.

    Returns:
        {"counts": [places]}: 1 where it has a value that is finite and at most ``LARGEST``.
    """
    having = [
        _tested(record, place, samples) if place.name == LOST else _known(record, place, samples)
        for place in PLACES
    ]
    return {"counts": torch.tensor(having, dtype=torch.float64)}


def client_counts(mean: Tree, clients: int) -> ClientCounts:
    """How many clients have a value for each place, from the mean of their first messages.

    Args:
        mean: Of ``presence_of`` of all clients: {"counts": [places]}.
        clients: How many there were.

    Returns:
        A whole number a place, and how many clients they are of.
    """
    numbers: Tensor = mean["counts"]
    whole = [round(share * clients) for share in numbers.tolist()]
    return ClientCounts(dict(zip(PLACES, whole, strict=True)), clients)


def revealed_places(counted: ClientCounts, threshold: int) -> tuple[Place, ...]:
    """The places whose sums may be revealed.

    Args:
        counted: Who has what.
        threshold: t. Of those who were counted, as many as it allows may drop out before the sum
            of values: it must be of three clients then still.

    Returns:
        Those that t clients have, in the order of ``PLACES``.
    """
    least = max(threshold, counted.clients - threshold + LEAST)
    return tuple(place for place in PLACES if place.name != LOST and counted.having[place] >= least)


def encode_places(places: Collection[Place]) -> bytes:
    """The request for their values, the same for all clients: a byte a place, 1 where it is asked
    for.

    Args:
        places: Those that are asked for.

    Returns:
        One byte for each of PLACES.
    """
    return bytes(place in places for place in PLACES)


def decode_places(message: bytes) -> tuple[Place, ...]:
    """The places that a client is asked for.

    Args:
        message: Of ``encode_places``; or of anybody, who may lie.

    Returns:
        At least one.

    Raises:
        Refused: The message names none.
    """
    well_formed = len(message) == len(PLACES) and set(message) <= {0, 1}
    places = tuple(place for place, one in zip(PLACES, message, strict=False) if one)
    if not well_formed or not places or any(place.name == LOST for place in places):
        raise Refused("score_keys: no list of scores")
    return places


def weighted_scores(
    record: Evaluation, samples: Mapping[str, int], places: Sequence[Place]
) -> Tree:
    """A client's second message: its values of the places that are asked for.

    Args:
        record: Of it, scores and measures.
        samples: Its "val" and "test" samples. What it measured on validation samples is weighted by
            their number; train and test count alike for every client.
        places: What it is asked for.

    Returns:
        {"scores": [places, 2]}: weight, and weight · value; 0 and 0 for what is not finite, or
        above ``LARGEST``.
    """
    rows = []
    for place in places:
        known = _known(record, place, samples)
        weight = _weight(place, samples) if known else 0.0
        rows.append([weight, weight * _value(record, place) if known else 0.0])
    return {"scores": torch.tensor(rows, dtype=torch.float64)}


def _weight(place: Place, samples: Mapping[str, int]) -> float:
    return float(samples["val"]) if place.split == "val" else 1.0


def _known(record: Evaluation, place: Place, samples: Mapping[str, int]) -> bool:
    """Whether a client has a value that counts."""
    weight = _weight(place, samples)
    return weight > 0 and _is_number(_value(record, place), weight)


def _tested(record: Evaluation, place: Place, samples: Mapping[str, int]) -> bool:
    """Whether a client has samples that a view was scored on."""
    return samples[place.split] > 0 and place.split in record.scores.get(place.view, {})


def _is_number(value: float, weight: float) -> bool:
    return math.isfinite(value) and abs(weight * value) <= LARGEST


def blank_counts() -> Tree:
    """A message of the form of ``presence_of``.

    Returns:
        {"counts": float64 [places]}.
    """
    return {"counts": torch.zeros(len(PLACES), dtype=torch.float64)}


def blank_scores(places: Sequence[Place]) -> Tree:
    """A message of the form of ``weighted_scores``.

    Args:
        places: Those that are asked for.

    Returns:
        {"scores": float64 [places, 2]}.
    """
    return {"scores": torch.zeros(len(places), 2, dtype=torch.float64)}


def means_of(
    counted: ClientCounts, places: Sequence[Place] = (), mean: Tree | None = None, clients: int = 0
) -> Means:
    """The federation's means, from the mean of the clients' second messages.

    Args:
        counted: Who has what.
        places: That were asked for.
        mean: {"scores": [places, 2]}; None where no place was.
        clients: How many clients the mean is of.

    Returns:
        All of it under the number of the federation; a view that nobody has is not there, but for
        the personal one. A validation loss is nan where that of a client with validation samples
        is no number: a model that diverged is worse than any, whatever the others have.
    """
    rows: list[list[float]] = [] if mean is None else mean["scores"].tolist()
    sums = dict(zip(places, rows, strict=True))
    means = {place: value / weight for place, (weight, value) in sums.items() if weight > 0}
    having = counted.having
    for view in VIEWS:
        if having[Place(view, "val", LOST)] > having[Place(view, "val", "loss")]:
            means[Place(view, "val", "loss")] = math.nan
    views = [
        view
        for view in VIEWS
        if view == VIEWS[0] or any(having[place] for place in PLACES if place.view == view)
    ]
    scores: dict[str, dict[str, tuple[float, float]]] = {
        view: {
            split: (
                means.get(Place(view, split, "loss"), math.nan),
                means.get(Place(view, split, "accuracy"), math.nan),
            )
            for split in SPLITS
            if split != "train" or Place(view, split, "loss") in means
        }
        for view in views
    }
    measures = {view: _measures(means, view) for view in views}
    in_sums = {place: round(weight * clients) for place, (weight, _) in sums.items()}
    return Means(
        {FEDERATION: scores},
        {FEDERATION: {view: by for view, by in measures.items() if by}},
        {view: _counted(in_sums, having, view) for view in views},
        any(having[place] for place in PLACES if place.name == "loss")
        or not any(having[place] for place in PLACES if place.name == LOST),
    )


def _counted(
    in_sums: Mapping[Place, int], having: Mapping[Place, int], view: str
) -> dict[str, tuple[int, int]]:
    """{loss, accuracy or a measure on test: (clients in the mean, others with test samples)}."""
    tested = having[Place(view, "test", LOST)]
    of_view = [p for p in PLACES if p.view == view and p.split == "test" and p.name != LOST]
    # scores last: a measure that is a score as well (the log-loss) is counted as one
    ordered = sorted(of_view, key=lambda place: not place.name.startswith("measure "))
    counted = {}
    for place in ordered:
        known = in_sums.get(place, 0)
        counted[place.name.removeprefix("measure ")] = (known, max(0, tested - known))
    return counted


def _measures(means: Mapping[Place, float], view: str) -> dict[str, dict[str, float]]:
    by_split: dict[str, dict[str, float]] = {}
    for place, value in means.items():
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
