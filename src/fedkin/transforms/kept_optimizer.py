"""[train] state = "kept": a client's momentum outlasts the round, though the model is replaced."""

from fedkin.core.method import ClientContext, Method
from fedkin.core.optimizers import remembering
from fedkin.core.tree import Tree
from fedkin.transforms.extra_state import with_client_state


def keep_optimizer(method: Method) -> Method:
    """The method whose clients keep the state of their optimizer, as part of their personal state.

    Every scan of mini-batches in ``client_update`` has a state of its own, which goes on in
    the next round that the client takes part in. ``finalize`` and what comes before the first round
    begin anew. The state is never sent.

    Args:
        method: Any one.

    Returns:
        The same method with {"own": its personal state, "optimizer": states} as personal state.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        with remembering(own["optimizer"]) as memory:
            mine, sent = method.client_update(received, own["own"], data)
        return {"own": mine, "optimizer": memory.after}, sent

    return with_client_state(method, lambda _: {"optimizer": {}})._replace(
        client_update=client_update
    )
