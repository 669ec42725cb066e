"""What a method tries: the same number of trials for every one, over rates and a few values of its
own.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fedkin.bench.suite import Content, Search

Hyper = dict[str, Any]


def trials(rates: Sequence[float], own: Sequence[Hyper], number: int) -> list[tuple[float, Hyper]]:
    """(rate, values of its own) of each trial, spread over the grid; all of the grid where
    ``number`` is as large.

    >>> trials([0.1, 0.3], [{"k": 1}, {"k": 2}], 3)
    [(0.1, {'k': 1}), (0.3, {'k': 2}), (0.1, {'k': 2})]

    Args:
        rates: Learning rates that are tried.
        own: {hyper-parameter: value} of each point; [] where the method has none.
        number: How many trials, at most.

    Returns:
        No pair twice.
    """
    own = own or [{}]
    period = math.lcm(len(rates), len(own))  # after so many, the same pairs would come again
    return [
        (rates[n % len(rates)], own[(n + n // period) % len(own)])
        for n in range(min(number, len(rates) * len(own)))
    ]


def untried(rates: Sequence[float], own: Sequence[Hyper], number: int) -> list[Hyper]:
    """Values of its own that come to no trial, for there are too many of them.

    >>> untried([0.1], [{"k": 1}, {"k": 2}], 1)
    [{'k': 2}]

    Args:
        rates: Learning rates that are tried.
        own: {hyper-parameter: value} of each point.
        number: How many trials there are.

    Returns:
        Some of ``own``.
    """
    tried = [one for _, one in trials(rates, own, number)]
    return [one for one in own if one not in tried]


def search_of(
    method: str, searches: Mapping[str, Search] | None = None
) -> tuple[list[Hyper], Hyper]:
    """(values of its own that are tried, what is fixed).

    Args:
        method: The name of a method.
        searches: What a suite says, which takes the place of fedkin's; None: nothing.

    Returns:
        ([], {}) of a method without hyper-parameters of its own.
    """
    if searches and method in searches:
        return list(searches[method].own), searches[method].fixed
    ranges = _searches().get(method, {})
    return list(ranges.get("own", [])), dict(ranges.get("fixed", {}))


def content_of(spec: Content, method: str, rate: float, hyper: Mapping[str, Any]) -> Content:
    """The specification of a trial, but for its seed.

    Args:
        spec: Of a setting.
        method: The name.
        rate: [train] lr.
        hyper: {hyper-parameter: value}.

    Returns:
        A new specification, as plain values.
    """
    return {
        **spec,
        "method": {"name": method, **hyper},
        "train": {**spec.get("train", {}), "lr": rate},
    }


@cache
def _searches() -> dict[str, Any]:
    text = resources.files("fedkin.bench").joinpath("searches.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
