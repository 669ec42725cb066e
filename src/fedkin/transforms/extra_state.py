"""What a transform keeps beside what the method keeps: at each client, and at the server."""

from collections.abc import Callable, Mapping

from fedkin.core.aggregation import Mean, Reply
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.tree import Params, Tree


def with_client_state(method: Method, first: Callable[[Params], dict[str, Tree]]) -> Method:
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


def with_server_state(
    method: Method, first: Tree, update: Callable[[Tree, Mean, ServerContext], Tree]
) -> Method:
    """The method with {"method": its server state, and more} as server state.

    Args:
        method: It declares a weighted sum.
        first: What is kept at first, by names other than "method".
        update: ``server_update`` of that whole state.
    """

    def setup_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        assert method.setup_update is not None
        return {**state, "method": method.setup_update(state["method"], replies, server)}

    def expected_setup(state: Tree, info: ClientInfo) -> Tree:
        assert method.expected_setup is not None
        return method.expected_setup(state["method"], info)

    def newcomer_placements(state: Tree, newcomer: int, info: ClientInfo) -> tuple[Tree, ...]:
        places = method.newcomer_placements(state["method"], newcomer, info)
        return tuple({**state, "method": place} for place in places)

    def update_newcomer(state: Tree, newcomer: int, reply: Reply, server: ServerContext) -> Tree:
        moved = method.update_newcomer(state["method"], newcomer, reply, server)
        return {**state, "method": moved}

    def server(start: FederationInit) -> Tree:
        return {"method": method.server(start), **first}

    return method._replace(
        server=server,
        broadcast=lambda state, client: method.broadcast(state["method"], client),
        server_update=update,
        setup_update=None if method.setup_update is None else setup_update,
        expected_setup=None if method.expected_setup is None else expected_setup,
        server_metrics=lambda state: method.server_metrics(state["method"]),
        newcomer_placements=newcomer_placements,
        update_newcomer=update_newcomer,
    )
