"""What a rule says of clients, kept in the server's state so that the record and the report have
it.
"""

from collections.abc import Mapping
from typing import Any

import torch

from fedkin.core.aggregation import Mean
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree
from fedkin.transforms.extra_state import with_server_state

REPORTED = "rule"  # the name beside the method's own state, which no message holds


def telling(method: Method) -> Method:
    """The method whose server metrics have what the rule said of the last round's clients, with
    {"method": its server state, "rule": what was said} as server state.
    """

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        after = method.server_update(state["method"], sent, server)
        said = {name: _packed(of) for name, of in sent.reported.items()}
        return {"method": after, REPORTED: said}

    def server_metrics(state: Tree) -> dict[str, dict[int, Any]]:
        said = {name: _unpacked(of) for name, of in state[REPORTED].items()}
        return {**method.server_metrics(state["method"]), **said}

    kept = with_server_state(method, {REPORTED: {}}, server_update)
    return kept._replace(server_metrics=server_metrics)


def _packed(of: Mapping[int, float]) -> Tree:
    return {
        "clients": torch.tensor(list(of), dtype=torch.int64),
        "values": torch.tensor(list(of.values()), dtype=torch.float64),
    }


def _unpacked(of: Tree) -> dict[int, float]:
    return dict(zip(of["clients"].tolist(), of["values"].tolist(), strict=True))
