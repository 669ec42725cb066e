"""Methods whose clients send factors of their updates, which no transform of updates can read."""

from fedkin.core.bounded import UpTo
from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit, Method
from fedkin.core.tree import leaves
from fedkin.transforms.setting import Setting, first_exchange


def whole_updates(method: Method, name: str, setting: Setting) -> Method:
    """The method for a transform that changes updates: it is refused where clients send factors.

    Args:
        method: What is transformed.
        name: Of the transform.
        setting: The experiment around the method.

    Returns:
        The method with one more check before training.
    """

    def check(start: FederationInit, participants: int) -> None:
        method.check(start, participants)
        _, sent = first_exchange(method, setting, start)
        if any(isinstance(leaf, UpTo) for leaf in leaves(sent)):
            raise FedkinError(
                f"transform {name} changes updates, and clients of {method.name} send factors of "
                "theirs, as many as each needs: leave it out (an attack kind = 'label_flip' works)"
            )

    return method._replace(check=check)
