"""What a row will cost in processor time, known before it runs.

``costs.csv`` has, by row, what ``python -m benchmarks.preset_costs`` found in runs that were made,
and counted for rows that were not from the work of the most similar one. Its seconds are those of
the machine that wrote it; a short probe says how much faster or slower this one is.
"""

import csv
import math
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import torch

from fedkin.engine.transports.base import one_thread
from fedkin.report import formatting
from fedkin.reproduce.preset import Row, content_of

PROBE = "probe"  # the line that says what ``probe`` took where costs.csv was made
STEPS = 300
MEASURED, COUNTED = "measured", "counted"


class Costs(NamedTuple):
    """Processor seconds of one seed: ``once`` (with the first round), each later ``round``, and the
    ``finish``. ``how``: MEASURED in a run of the row, or COUNTED.
    """

    once: float
    round: float
    finish: float
    how: str

    def seconds(self, rounds: int) -> float:
        """Processor seconds of a whole run.

        Args:
            rounds: How many it has.

        Returns:
            Seconds.
        """
        return self.once + max(0, rounds - 1) * self.round + self.finish


class Estimate(NamedTuple):
    """Processor seconds, nan where nothing is known; ``rough`` where they are not from a run of the
    same row.
    """

    seconds: float
    rough: bool = False

    def __str__(self) -> str:
        return ("~ " if self.rough else "") + formatting.seconds(self.seconds)


def estimate(
    row: Row, changes: Mapping[str, Any] | None = None, speed: float = 1.0, seeds: int = 1
) -> Estimate:
    """What a row costs on a machine that is ``speed`` times as fast as the one of costs.csv.

    Args:
        row: Of a preset.
        changes: {"section.key": value} of the run; None: there are none.
        speed: How many times as fast this machine is as the one of costs.csv.
        seeds: How many are run.

    Returns:
        Processor seconds; nan where nothing is known.
    """
    if row.runner != "experiment":
        return Estimate(0.1 * seeds)
    known = costs().get(row.name)
    if known is None:
        return Estimate(math.nan)
    rounds = int({**content_of(row)["run"], **_inner(changes or {}, "run.")}["rounds"])
    return Estimate(seeds * known.seconds(rounds) / speed, known.how != MEASURED)


def total_of(estimates: Iterable[Estimate]) -> Estimate:
    """Their sum.

    Args:
        estimates: Costs.

    Returns:
        Rough where one of them is.
    """
    each = list(estimates)
    return Estimate(sum(one.seconds for one in each), any(one.rough for one in each))


@cache
def costs() -> dict[str, Costs]:
    """By row.

    Returns:
        {row: what it costs}.
    """
    text = resources.files("fedkin.reproduce").joinpath("costs.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        line["row"]: Costs(
            float(line["once"]), float(line["round"]), float(line["finish"]), line["how"]
        )
        for line in lines
    }


def speed() -> float:
    """How many times as fast as the machine of costs.csv this one is, from a probe of a fraction of
    a second.

    Returns:
        Above 0; 1 of a machine as fast.
    """
    return costs()[PROBE].once / probe()


def probe() -> float:
    """Processor seconds of the fastest of three short trainings, with one thread as in runs:
    waiting threads cost processor time too, the more the busier the machine is.

    Returns:
        Seconds.
    """
    with one_thread():
        return min(_training() for _ in range(3))


def _training() -> float:
    draw = torch.Generator().manual_seed(0)
    x, y = (
        torch.randn(20, 784, generator=draw),
        torch.eye(10)[torch.randint(10, (20,), generator=draw)],
    )
    first, second = (
        0.05 * torch.randn(784, 128, generator=draw),
        0.05 * torch.randn(128, 10, generator=draw),
    )
    began = time.process_time()
    for _ in range(STEPS):
        hidden = (x @ first).clamp(min=0)
        slope = hidden @ second - y
        first -= 0.0001 * (x.T @ (slope @ second.T * (hidden > 0)))
        second -= 0.0001 * (hidden.T @ slope)
    return time.process_time() - began


def _inner(changes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value for key, value in changes.items() if key.startswith(prefix)
    }
