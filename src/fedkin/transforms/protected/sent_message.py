"""Whether clients send anything that [privacy] could protect."""

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit, Method
from fedkin.core.tree import Tree
from fedkin.transforms.setting import Setting, first_exchange


def sent_message(method: Method, setting: Setting, start: FederationInit) -> Tree:
    """What a client sends in a round, for [privacy]: of nothing there is nothing to protect.

    Args:
        method: The method.
        setting: The experiment around it.
        start: What its server starts from.

    Returns:
        Its ``expected_update``, of any client in the first round.

    Raises:
        FedkinError: Clients send nothing, neither in a round nor before the first one.
    """
    _, sent = first_exchange(method, setting, start)
    if not sent and method.setup_message is None:
        raise FedkinError(
            f"[privacy] has nothing to protect: clients of {method.name} send nothing; leave "
            "[privacy] out"
        )
    return sent
