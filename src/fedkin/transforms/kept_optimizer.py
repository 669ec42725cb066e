"""[train] state = "kept": a client's momentum outlasts the round, though the model is replaced."""

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.optimizers import remembering
from fedkin.core.tree import Params, Tree


def keep_optimizer(method: Method) -> Method:
    """The method whose clients keep the state of their optimizer, as part of their personal state.

    Every walk through mini-batches of ``client_update`` has a state of its own, which goes on in
    the next round that the client takes part in. ``finalize`` and what comes before the first round
    begin anew. The state is never sent.

    Args:
        method: Any one.

    Returns:
        The same method with {"own": its personal state, "optimizer": states} as personal state.
    """

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"own": method.client(initial, info), "optimizer": {}}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        with remembering(own["optimizer"]) as memory:
            mine, sent = method.client_update(received, own["own"], data)
        return {"own": mine, "optimizer": memory.after}, sent

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        assert method.finalize is not None
        return {**own, "own": method.finalize(received, own["own"], data)}

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        return method.setup_message(own["own"], data)

    return method._replace(
        client=client,
        client_update=client_update,
        personal_models=lambda received, own, data: method.personal_models(
            received, own["own"], data
        ),
        finalize=None if method.finalize is None else finalize,
        setup_message=None if method.setup_message is None else setup_message,
        client_metrics=lambda own: method.client_metrics(own["own"]),
    )
