"""Local training: every client alone, with the same total local steps. What every personal method
must beat.
"""

from collections.abc import Mapping

from fedkin.core.aggregation import Reply
from fedkin.core.hyperparameters import declared
from fedkin.core.method import (
    ClientContext,
    ClientInfo,
    FederationInit,
    Method,
    Needs,
    ServerContext,
)
from fedkin.core.ops import scan
from fedkin.core.tree import Params, Tree
from fedkin.methods.fedavg import sgd_step


@declared
def local(*, lr: float) -> Method:
    """Each client trains its own model on its own data; nothing is sent.

    Reading: in a round only the participants train, as in the other methods, so that the number of
    local steps is the same.

    Args:
        lr: Learning rate of SGD. Batches and steps come from [train].
    """

    def work(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        return {
            "parameters": scan(sgd_step, own["parameters"], data.batches(), lr * data.decay)
        }, {}

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"parameters": initial}

    def server(start: FederationInit) -> Tree:
        return {}

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        return state

    return Method(
        name="local",
        server=server,
        client=client,
        broadcast=lambda state, client: {},
        client_update=work,
        expected_update=lambda received, info: {},
        server_update=server_update,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        needs=Needs(one_architecture=False),
    )
