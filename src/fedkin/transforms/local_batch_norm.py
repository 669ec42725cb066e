"""Running statistics that are not averaged: [model] buffers = "local".

They stay where they were collected. What the server handles, and what is sent, has an empty tensor
in each one's place ([0], or [K, 0] in a stack of K models), which holds no number and says where
the client's own belong.
"""

from collections.abc import Callable

from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, FederationInit, Method
from fedkin.core.tree import Params, Tree, children, is_buffer, rebuild
from fedkin.transforms.extra_state import with_client_state


def keep_batch_norm_local(method: Method) -> Method:
    """The method whose clients keep their running statistics: none is sent, and none is averaged.

    Whatever model a client receives gets the client's own: those that the model which it last sent
    from the same place of its message had, else those that any other one had, else the initial
    ones. A stack of K models keeps K sets where the client sends K; where it sends one, all K get
    that one's. What a message holds must be statistics, not changes of them. Raises FedkinError for
    a method whose server runs models: it has no statistics for them.
    """
    if method.needs.server_models:
        raise FedkinError(
            f"{method.name} runs models at the server, which has no running statistics with "
            "model.buffers = 'local': "
            "choose 'global' or 'drop'"
        )

    kept = with_client_state(method, lambda _: {"statistics": {}})

    def server(start: FederationInit) -> Tree:
        return method.server(_emptied_start(start))

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        mine, up = kept.client_update(filled(received, own, data), own, data)
        statistics = {**own["statistics"], **found(up)}
        return {**mine, "statistics": statistics}, emptied(up, data.model.initial)

    def finalize(received: Tree, own: Tree, data: ClientContext) -> Tree:
        assert kept.finalize is not None
        return kept.finalize(filled(received, own, data), own, data)

    def setup_message(own: Tree, data: ClientContext) -> Tree:
        assert kept.setup_message is not None
        return emptied(kept.setup_message(own, data), data.model.initial)

    return kept._replace(
        server=server,
        client_update=client_update,
        personal_models=lambda received, own, data: kept.personal_models(
            filled(received, own, data), own, data
        ),
        finalize=None if method.finalize is None else finalize,
        setup_message=None if method.setup_message is None else setup_message,
        check=lambda start, participants: method.check(_emptied_start(start), participants),
    )


Put = Callable[[str, str, Tensor], Tensor]  # (path, name, value) → what stands there instead


def _with_statistics(tree: Tree, put: Put, path: str = "") -> Tree:
    """The tree with other running statistics; everything else is the same object."""
    kids = children(tree)
    if kids is None:
        return tree
    places = [(f"{path}/{name}" if path else name, name, child) for name, child in kids]
    changed = [
        put(at, name, child) if is_buffer(name) else _with_statistics(child, put, at)
        for at, name, child in places
    ]
    return rebuild(tree, changed)


def emptied(tree: Tree, like: Params) -> Tree:
    """A tree without running statistics: the axes that number models stay, those of ``like`` become
    one of length 0.
    """

    def put(path: str, name: str, value: Tensor) -> Tensor:
        return value.new_empty((*value.shape[: value.dim() - like[name].dim()], 0))

    return _with_statistics(tree, put)


def _emptied_start(start: FederationInit) -> FederationInit:
    parameters = {name: emptied(initial, initial) for name, initial in start.parameters.items()}
    return start._replace(
        parameters=parameters, draw=lambda k: emptied(start.draw(k), start.only())
    )


def found(tree: Tree) -> Params:
    """path → running statistics, for all in a tree."""
    seen: Params = {}

    def put(path: str, name: str, value: Tensor) -> Tensor:
        seen[path] = value
        return value

    _with_statistics(tree, put)
    return seen


def filled(received: Tree, own: Tree, data: ClientContext) -> Tree:
    """A message in which the client's own statistics stand where it has empty ones."""
    initial, kept = data.model.initial, own["statistics"]

    def put(path: str, name: str, value: Tensor) -> Tensor:
        stack, one = value.shape[:-1], initial[name].shape
        here = [kept[path]] if path in kept else []
        elsewhere = [tensor for place, tensor in kept.items() if place.split("/")[-1] == name]
        choices: list[Tensor] = [*here, *elsewhere, initial[name]]
        fitting = next(choice for choice in choices if choice.shape in (stack + one, one))
        return fitting.expand(stack + one).clone()

    return _with_statistics(received, put)
