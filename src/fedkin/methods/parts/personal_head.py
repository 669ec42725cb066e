"""A head that stays at its client beside a body that is averaged."""

from fedkin.core.method import ClientContext
from fedkin.core.model import head_of
from fedkin.core.tree import Params, Tree


def personal_head(own: Tree, data: ClientContext) -> Params:
    """φ_i; the initial head before the client's first round.

    Args:
        own: A client's state: {}, or {"head": the parameters of its head, …}.
        data: Of the client.

    Returns:
        The parameters of its head.
    """
    kept: Params = own["head"] if own else data.model.initial
    return {name: kept[name] for name in head_of(data.model).names}
