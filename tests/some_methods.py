"""Of tests that train with every method: the methods that they train with at every change.

One of each kind of what is sent, kept and done: that says whether the engine does its work. The
others are marked slow: scripts/nightly has them.
"""

from collections.abc import Iterable
from typing import Any

import pytest

FIRST = frozenset(
    {
        "local",
        "centralized",
        "fedavg",
        "scaffold",  # state on both sides
        "feddyn",
        "ditto",
        "pfedme",
        "fedrep",  # parts of the model
        "fedbn",
        "knn_per",
        "fedproto",  # prototypes
        "fedkd",
        "fedas",  # work of all clients before the first round
        "ifca",  # several models for everyone
        "hypcluster",
        "clustered_fl",
        "cgpfl",
        "ppfl",
        "fedfomo",  # models of other clients
        "comet",  # predictions
        "fedmd",
        "feddf",
        "persfl",  # work after the last round
    }
)


def some(methods: Iterable[str]) -> list[Any]:
    """The same methods as parameters of a test, those that are not among the first marked slow.

    Args:
        methods: Their names.

    Returns:
        What pytest.mark.parametrize takes.
    """
    return [
        name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in methods
    ]
