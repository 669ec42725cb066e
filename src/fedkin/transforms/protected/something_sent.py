"""Whether clients send anything that [privacy] could protect."""

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit, Method
from fedkin.core.tree import Tree
from fedkin.transforms.setting import Setting


def something_sent(method: Method, setting: Setting, start: FederationInit) -> Tree:
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
    received = method.broadcast(method.server(start), setting.first)
    sent = method.expected_update(received, setting.infos[setting.first])
    if not sent and method.setup_message is None:
        raise FedkinError(
            f"[privacy] has nothing to protect: clients of {method.name} send nothing; leave "
            "[privacy] out"
        )
    return sent
