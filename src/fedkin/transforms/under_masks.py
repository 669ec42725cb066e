"""Which methods can do with a sum that nobody sees the terms of."""

from collections.abc import Callable, Sequence

from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit, Method
from fedkin.core.tree import named_leaves
from fedkin.masks.terms import Terms, check_terms
from fedkin.transforms.protected.sent_message import sent_message
from fedkin.transforms.setting import Setting, declared_sum, first_exchange

ASKED = "[privacy] secure_aggregation"


def check_uncompressed(names: Sequence[str]) -> None:
    """Raise FedkinError where messages are compressed: what is compressed cannot be added."""
    if names:
        raise FedkinError(
            f"{ASKED} adds numbers that nobody can read, and {names[0]} sends only some of them "
            f"or their codes: take {names[0]} out of [[transforms]]"
        )


def sum_under_masks(method: Method, setting: Setting, threshold: int) -> Method:
    """The method, checked before training: its server needs a sum and nothing beside it.

    Args:
        method: With all that is put around it.
        setting: The experiment around it.
        threshold: t, participants without whom a round is refused.

    Returns:
        The method; one that declares no sum is refused by its ``check``, where it is known whether
        its clients send anything at all.

    Raises:
        FedkinError: A rule needs messages one by one, or the threshold protects nobody.
    """
    if method.needs.pooled or not isinstance(method.aggregation, WeightedSum):
        return method._replace(check=_without_a_sum(method, setting))
    summed = method.aggregation
    check_terms(Terms(0, threshold, 0), setting.participants)
    if summed.rule is not None or summed.steps:
        raise FedkinError(
            f"{ASKED} shows the server a sum alone, and a robust rule, a norm bound or noise at "
            "the server works on each message: take it out of [[transforms]], or let clients clip "
            "and add noise (privacy.where = 'client')"
        )

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        if method.setup_message is not None:
            raise FedkinError(
                f"{ASKED}: clients of {method.name} introduce themselves before the first round, "
                "one by one: try fedavg"
            )
        _, sent = first_exchange(method, setting, start)
        beside = [
            path for path, _ in named_leaves(sent) if path.partition("/")[0] not in summed.kinds
        ]
        if beside:
            raise FedkinError(
                f"{ASKED}: clients of {method.name} send {beside[0]} beside the sum, one by one: "
                "try fedavg"
            )

    return method._replace(check=check)


def _without_a_sum(method: Method, setting: Setting) -> Callable[[FederationInit, int], None]:
    """The check of a method that masks cannot do for: it says why."""

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        sent_message(method, setting, start)
        declared_sum(method, "", setting, ASKED)

    return check
