"""What methods need that compute with the rows of a head."""

from fedkin.core.errors import FedkinError
from fedkin.core.method import FederationInit


def check_linear_head(does: str, start: FederationInit, *, with_bias: bool = False) -> None:
    """Refuse a head that is no linear layer.

    Args:
        does: What the method does with a linear head, its name first.
        start: What the server knows, with the heads of all architectures.
        with_bias: Whether the layer needs a bias, too.

    Raises:
        FedkinError: The first architecture with another head.
    """
    for name, head in start.heads.items():
        if not head.linear or (with_bias and len(head.names) != 2):
            raise FedkinError(
                f"{does}: the head of {name} is none; leave out model.head, or name its last "
                f"linear layer{' that has a bias' if with_bias else ''}"
            )
