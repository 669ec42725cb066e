"""What a method needs, asked by its name."""

from fedkin.core.errors import FedkinError
from fedkin.core.method import Needs
from fedkin.methods import make


def needs_of(name: str) -> Needs | None:
    """What a method declares to need.

    Args:
        name: Of the method.

    Returns:
        None where it cannot be made with its defaults alone.
    """
    try:
        return make(name, {}, {"lr": 0.1}).needs
    except FedkinError:
        return None
