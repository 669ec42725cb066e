"""What [method] safe = true does to clients whose samples depend on one another: windows of one
recording of UCI HAR, which overlap by half.

    FEDKIN_DATA=DIR python -m benchmarks.safe_recordings [--only ditto,apfl]
        [--write docs/safe.md]

The methods, runs and seed of ``benchmarks.safe``. Each client deploys the federated model, what
safe chooses (a test over windows), or what the same rule chooses by a test over recordings. Test
rows are read for the table: *surely* hurt at the 5 % level, by both tests.
"""

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.page import put
from benchmarks.safe import CLASSES, METHODS, Judged, deployed, judged, trained
from fedkin.data.arrays import Array
from fedkin.data.population import Population
from fedkin.transforms.safe import choice, errors, no_better

LEVEL = 0.05
WAYS = {
    "never": "the federated model",
    "windows": "chosen by windows, as `safe` does",
    "recordings": "chosen by recordings",
}
HEAD = (
    "| what clients deploy | gain | hurt | surely, by windows | surely, by recordings |\n"
    "|---|---|---|---|---|"
)


def no_better_by(gain: torch.Tensor, group: Array) -> float:
    """``no_better`` where rows of one group depend on one another: the signs of a whole group are
    flipped together (Canay, Romano & Shaikh, 2017).

    >>> gain = torch.tensor([1.0, 0.0, 1.0, 1.0])
    >>> no_better(gain), no_better_by(gain, np.arange(4))  # each row is a group of its own
    (0.125, 0.125)
    >>> no_better_by(gain.repeat_interleave(2), np.arange(8) // 2)  # rows told twice
    0.125
    """
    _, number = np.unique(group, return_inverse=True)
    return no_better(torch.from_numpy(np.bincount(number, weights=gain.numpy())))


def clients(
    population: Population, models: Sequence[Judged], way: str
) -> list[tuple[float, float, float]]:
    """(what it loses on `local`, the two chances that this is nothing) of every client."""
    recording, found = population.truth["bout"], []
    for client, parts in enumerate(models):
        share = 1.0
        if way != "never":
            by = partial(no_better_by, group=recording[population.val[client]])
            test = no_better if way == "windows" else by
            share, _ = choice(CLASSES, *parts["val"], errors, test)
        p, q, y = parts["test"]
        out = deployed(share, p, q)
        worse = errors(CLASSES, out, y).double() - errors(CLASSES, q, y).double()
        grouped = no_better_by(worse, recording[population.test[client]])
        found.append((float(worse.mean()), no_better(worse), grouped))
    return found


def line(way: str, found: Sequence[tuple[float, float, float]]) -> str:
    """One row of the table, over all methods and clients."""
    worse, windows, recordings = (np.array(part) for part in zip(*found, strict=True))
    return (
        f"| {WAYS[way]} | {-100 * worse.mean():+.1f} | {np.mean(worse > 1e-9):.1%} | "
        f"{np.mean(windows <= LEVEL):.1%} | {np.mean(recordings <= LEVEL):.1%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(METHODS))
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        alone = trained("har", "local", folder)
        for name in given.only.split(","):
            models = judged(alone, trained("har", name, folder))
            for way in WAYS:
                found[way] += clients(alone.parts.population, models, way)
            print(name, flush=True)
    table = "\n".join([HEAD, *(line(way, found[way]) for way in WAYS)])
    print(table)
    if given.write is not None:
        put(given.write, "safe-recordings", table)


if __name__ == "__main__":
    main()
