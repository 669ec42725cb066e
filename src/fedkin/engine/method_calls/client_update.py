"""What a client's update returns: two trees, of which one is easily forgotten."""

from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.tree import Tree


def state_and_message(method: Method, returned: Any) -> tuple[Tree, Tree]:
    """What ``client_update`` returned, as the two that it promises.

    Args:
        method: Whose it is.
        returned: What it returned.

    Returns:
        (P, U): the client's new state, and its message.

    Raises:
        FedkinError: It is no pair: a dict of two entries would be taken apart into its keys.
    """
    if isinstance(returned, tuple | list) and len(returned) == len(("P", "U")):
        return returned[0], returned[1]
    size = f" of {len(returned)}" if isinstance(returned, tuple | list) else ""
    raise FedkinError(
        f"method {method.name}: client_update returns a {type(returned).__name__}{size}, not "
        "(P, U): the state that the client keeps ({} for none), and its message"
    )
