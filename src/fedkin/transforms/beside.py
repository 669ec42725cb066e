"""What a transform keeps at each client beside what the method keeps there."""

from collections.abc import Callable

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.tree import Params, Tree


def beside(method: Method, first: Callable[[Params], dict[str, Tree]]) -> Method:
    """The method with {"own": its personal state, and more} as personal state.

    What is more stays as it was where a transform does not replace ``client_update``.

    Args:
        method: Any one.
        first: Initial parameters → what is kept at first, by names other than "own".
    """

    def client(initial: Params, info: ClientInfo) -> Tree:
        return {"own": method.client(initial, info), **first(initial)}

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        mine, sent = method.client_update(received, own["own"], data)
        return {**own, "own": mine}, sent

    def personal_models(received: Tree, own: Tree, data: ClientContext) -> dict[str, Tree]:
        return method.personal_models(received, own["own"], data)

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        assert method.finalize is not None
        return {**own, "own": method.finalize(received, own["own"], data)}

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert method.setup_message is not None
        return method.setup_message(own["own"], data)

    return method._replace(
        client=client,
        client_update=client_update,
        personal_models=personal_models,
        finalize=None if method.finalize is None else finalize,
        setup_message=None if method.setup_message is None else setup_message,
        client_metrics=lambda own: method.client_metrics(own["own"]),
    )
