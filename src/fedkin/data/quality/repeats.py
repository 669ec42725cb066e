"""Samples that occur twice: in one client, across clients, in train and test."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedkin.core.errors import many, percent
from fedkin.data.arrays import Array, Ints, Mask
from fedkin.data.quality.parsed_columns import ROWS
from fedkin.data.quality.problem import Problem
from fedkin.data.tables.duplicate_rows import same_rows

SHUFFLES = 5  # whose mean is chance's, in a table of few rows
TIMES = 3.0  # what rows of few values repeat by chance, so often, is no fault


def repeats(x: Array, y: Array, owner: Ints | None, official: Mask | None) -> dict[str, int]:
    """Samples that an earlier row holds already: in the same client, in another; test rows that are
    training rows.

    Args:
        x: [n, …] samples.
        y: [n] labels.
        owner: [n] the client of each, where they are known.
        official: [n] which are official test rows, where there are any.

    Returns:
        "all", "within_clients", "across_clients", "test_in_train" → samples.
    """
    same = same_rows(x, y)
    counts = {"all": len(same) - len(np.unique(same))}
    if owner is not None:
        pairs = np.unique(np.stack([same, owner], axis=1), axis=0)
        counts |= {
            "within_clients": len(same) - len(pairs),
            "across_clients": len(pairs) - len(np.unique(same)),
        }
    if official is not None:
        counts["test_in_train"] = int(np.isin(same[official], same[~official]).sum())
    return counts


def by_chance(x: Array, y: Array, owner: Ints | None, official: Mask | None) -> dict[str, float]:
    """The same of a table whose columns were shuffled, each by itself: what its few values make
    repeat anyway.

    Args:
        x: [n, columns] cells of a table.
        y: [n] labels.
        owner: [n] the client of each, where they are known.
        official: [n] which are official test rows, where there are any.

    Returns:
        The same keys → the mean over the shuffles.
    """
    rng = np.random.Generator(np.random.Philox(3))
    shuffles: list[dict[str, int]] = []
    for _ in range(SHUFFLES if len(x) <= ROWS else 1):
        shuffled = np.stack([rng.permutation(column) for column in x.T], axis=1)
        shuffles.append(
            repeats(np.ascontiguousarray(shuffled), rng.permutation(y), owner, official)
        )
    return {key: float(np.mean([one[key] for one in shuffles])) for key in shuffles[0]}


def repeated(
    twice: Mapping[str, int], chance: Mapping[str, float], samples: int, table: bool
) -> list[Problem]:
    """The faults that repeated samples are, where they are more than chance makes.

    Args:
        twice: What ``repeats`` counts.
        chance: What ``by_chance`` counts; {} for pictures.
        samples: How many there are.
        table: Whether they are rows of a table, which can be dropped.

    Returns:
        One problem for each kind of repetition.
    """
    counts = {
        key: count if count > TIMES * chance.get(key, 0) else 0 for key, count in twice.items()
    }
    drop: dict[str, Any] = {"data.duplicates": "drop"} if table else {}
    problems = []
    if known := counts.get("test_in_train"):
        these = many(known, "test sample is a training sample", "test samples are training samples")
        problems.append(
            _problem(f"{these} too", "test accuracy would be too high", drop, known / samples)
        )
    if shared := counts.get("across_clients"):
        these = many(shared, "sample is", "samples are")
        problems.append(
            _problem(
                f"{these} held by another client too",
                "whoever trains on them knows them; one of them is enough",
                drop,
                shared / samples,
            )
        )
    if own := counts.get("within_clients"):
        these = many(own, "sample repeats", "samples repeat")
        problems.append(
            _problem(
                f"{these} another of the same client",
                "a random split can put one into train and one into test; keep equal ones together",
                {"split.group": "duplicates"},
                own / samples,
            )
        )
    elif "within_clients" not in counts and counts["all"]:
        these = many(counts["all"], "sample repeats", "samples repeat")
        why = "a random split can put one into train and one into test"
        problems.append(_problem(f"{these} another", why, drop, counts["all"] / samples))
    return problems


def _problem(says: str, why: str, fix: dict[str, Any], share: float) -> Problem:
    return Problem("duplicates", f"{says} ({percent(share)})", why, fix, share)
