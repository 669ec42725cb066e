"""What a method says of a client's state, before the record keeps it: numbers, under free names."""

import math
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.runs.record import CLUSTER, OF_THE_SERVER


def metrics_of(method: Method, own: Tree) -> dict[str, Any]:
    """What the method says of a client.

    Args:
        method: Whose ``client_metrics`` is asked.
        own: The client's state.

    Returns:
        Name → number, or vector.

    Raises:
        FedkinError: As ``check_metrics`` does.
    """
    return check_metrics(method.name, method.client_metrics(own))


def check_metrics(method: str, metrics: dict[str, Any]) -> dict[str, Any]:
    """What ``client_metrics`` returned.

    Args:
        method: Its name, for the message.
        metrics: Name → number, or vector.

    Returns:
        ``metrics``, unchanged.

    Raises:
        FedkinError: A value is no finite number and no vector of such, or its name is the run's.
    """
    for name, value in metrics.items():
        if name in OF_THE_SERVER:
            raise FedkinError(
                f"method {method}: client_metrics says {name!r}, which the server says of a "
                "client: take another name"
            )
        if name == CLUSTER and not isinstance(value, int):
            raise FedkinError(
                f"method {method}: client_metrics says {name!r} is {repr(value)[:40]}, and a "
                "cluster is a whole number: take another name, or int(…)"
            )
        if not _finite(value):
            raise FedkinError(
                f"method {method}: client_metrics says {name!r} is {repr(value)[:40]}, which is no "
                "finite number and no list of them: float(x), or x.tolist()"
            )
    return metrics


def _finite(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    return isinstance(value, int | float) and math.isfinite(value)
