"""What a transform is made for, and what all of them check alike."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from fedkin.core.aggregation import EachClient, GroupedSum, Mean, Reply, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, Method, ServerContext
from fedkin.core.tree import Tree

__all__ = [
    "Change",
    "Setting",
    "blind",
    "declared_sum",
    "first_exchange",
    "message_by_message",
    "participants_at_least",
]


class Setting(NamedTuple):
    """The experiment around a method: what a transform may depend on.

    clients: M. participants: m of them a round. share: C of [run] participation. seed: of the run.
    summing: names the methods that declare a sum, for a sentence. infos: of the clients.
    """

    clients: int
    participants: int
    share: float
    seed: int
    summing: Callable[[], str] = lambda: "fedavg"
    infos: Mapping[int, ClientInfo] = MappingProxyType({})

    @property
    def first(self) -> int:
        """Any client."""
        return min(self.infos)


Change = Callable[[Method, Setting], Method]


def declared_sum(method: Method, name: str, setting: Setting, shown: str = "") -> WeightedSum:
    """The sum that a method declares.

    Args:
        method: The method.
        name: Of the transform that needs it.
        setting: The experiment, for the names of methods that would do.
        shown: Who asks, in words, if not "transform ``name``".

    Returns:
        Its ``aggregation``.

    Raises:
        FedkinError: The method needs every message by itself, or a sum for each group of clients,
            or trains on pooled data.
    """
    if method.needs.pooled or not isinstance(method.aggregation, WeightedSum):
        why = "needs every message by itself"
        if method.needs.pooled:
            why = "trains on pooled data"
        elif isinstance(method.aggregation, GroupedSum):
            why = "needs a sum for each group of clients"
        who = shown or f"transform {name}"
        raise FedkinError(
            f"{who} works on a declared sum of updates, and {method.name} {why}: try "
            f"{setting.summing()}"
        )
    return method.aggregation


def replaceable_mean(method: Method, name: str, setting: Setting) -> WeightedSum:
    """The sum of a method whose server may be given another result than the plain mean.

    Args:
        method: The method.
        name: Of the transform that changes it.
        setting: The experiment, for the names of methods that would do.

    Returns:
        Its ``aggregation``.

    Raises:
        FedkinError: It declares no sum, or its server computes with the mean as such.
    """
    summed = declared_sum(method, name, setting)
    if method.needs.plain_mean:
        raise FedkinError(
            f"transform {name} changes what the mean comes to, and the server of {method.name} "
            "computes with the mean as such, so that it would go wrong round after round: try "
            "fedavg or ditto"
        )
    return summed


def first_exchange(method: Method, setting: Setting, start: FederationInit) -> tuple[Tree, Tree]:
    """What a client is sent in the first round, and what it answers: what a check of messages looks
    at, before anybody trains.

    Args:
        method: The method.
        setting: The experiment around it.
        start: What its server starts from.

    Returns:
        A message down, and the ``expected_update`` of it.
    """
    received = method.broadcast(method.server(start), setting.first)
    return received, method.expected_update(received, setting.infos[setting.first])


def message_by_message(method: Method) -> Method:
    """The method for a transform that changes messages before they are summed: its server is given
    every one, and takes the sums of groups itself.

    Args:
        method: Any; one without sums of groups stays as it is.
    """
    how = method.aggregation
    if not isinstance(how, GroupedSum):
        return method

    def server_update(state: Tree, replies: Mapping[int, Reply], server: ServerContext) -> Tree:
        return method.server_update(state, aggregated(how, replies), server)

    return method._replace(aggregation=EachClient(), server_update=server_update)


def blind(method: Method, expected: float) -> Callable[[Tree, Mean, ServerContext], Tree]:
    """``server_update`` that does not learn who took part, nor how many: noise covers what it gets.

    Args:
        method: It declares a weighted sum.
        expected: Participants of a round, on average.

    Returns:
        The function, for ``Method.server_update``.
    """
    some = tuple(range(max(1, round(expected))))

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return method.server_update(
            state, sent._replace(clients=some, weight=expected, each={}, expected=expected), server
        )

    return server_update


def participants_at_least(method: Method, name: str, least: int, hint: str) -> Method:
    """The method that refuses a federation with fewer participants a round.

    Args:
        method: The method; its own check follows.
        name: Of the transform, for the sentence.
        least: Participants a round.
        hint: What to do where there are fewer.
    """

    def check(start: FederationInit, participants: int) -> None:
        if participants < least:
            raise FedkinError(
                f"transform {name} needs at least {least} participants a round, and there are "
                f"{participants}: {hint}"
            )
        method.check(start, participants)

    return method._replace(check=check)
