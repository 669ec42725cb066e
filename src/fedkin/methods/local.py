"""Local training: every client alone, with the same total local steps. What every personal method
must beat.
"""

from fedkin.core.hyperparameters import declared
from fedkin.core.method import ClientContext, Method, Needs
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Tree


@declared
def local(*, lr: float) -> Method:
    """Each client trains its own model on its own data; nothing is sent.

    Reading: in a round only the participants train, as in the other methods, so that the number of
    local steps is the same.

    Args:
        lr: Learning rate of SGD. Batches and steps come from [train].
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        w = scan(sgd_step, own["parameters"], data.batches(), lr * data.decay)
        return {"parameters": w}, {}

    return Method(
        name="local",
        server=lambda start: {},
        client=lambda initial, info: {"parameters": initial},
        broadcast=lambda state, client: {},
        client_update=client_update,
        expected_update=lambda received, info: {},
        server_update=lambda state, replies, server: state,
        personal_models=lambda received, own, data: {"personal": own["parameters"]},
        needs=Needs(one_architecture=False),
    )
