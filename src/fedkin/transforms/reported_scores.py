"""What a rule says of clients, kept in the server's state so that the record and the report have
it.
"""

from collections.abc import Mapping
from typing import Any

import torch

from fedkin.core.aggregation import Mean
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree

REPORTED = "rule"  # the name in the server's state, which no message holds


def telling(method: Method) -> Method:
    """The method whose server metrics have what the rule said of the last round's clients."""

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        after = method.server_update(own(state), sent, server)
        return {**after, REPORTED: {name: _packed(of) for name, of in sent.reported.items()}}

    def server_metrics(state: Tree) -> dict[str, dict[int, Any]]:
        said = state.get(REPORTED, {})
        return {
            **method.server_metrics(own(state)),
            **{name: _unpacked(of) for name, of in said.items()},
        }

    return method._replace(
        broadcast=lambda state, client: method.broadcast(own(state), client),
        server_update=server_update,
        server_metrics=server_metrics,
    )


def own(state: Tree) -> Tree:
    """The server's state as the method made it."""
    return {name: part for name, part in state.items() if name != REPORTED}


def _packed(of: Mapping[int, float]) -> Tree:
    return {
        "clients": torch.tensor(list(of), dtype=torch.int64),
        "values": torch.tensor(list(of.values()), dtype=torch.float64),
    }


def _unpacked(of: Tree) -> dict[int, float]:
    return dict(zip(of["clients"].tolist(), of["values"].tolist(), strict=True))
