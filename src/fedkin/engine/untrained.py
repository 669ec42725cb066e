"""Whether a client that never took part deploys something that nobody trained.

No method declares it. What the client begins with is moved a little, and where the personal model
moves with it, that model has a part which stays at the client. A part that the server keeps for
each client is seen beside that of a client that took part: it is as every model began, and the
other's is not.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, cast

import torch

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Model
from fedkin.core.tree import Tree, leaves, map_tree


class NoSamples(NamedTuple):
    """A ``ClientContext`` without samples: whatever a method asks of them is a LookupError."""

    info: ClientInfo
    model: Model

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise LookupError(f"{name} of a client without samples")

        return refuse


def begins_untrained(
    method: Method, state: Tree, model: Model, info: ClientInfo, drawn: int | None = None
) -> bool:
    """Whether the personal model of a client that has not worked yet depends on what every model
    begins with, and no work after the last round is about to change that.

    Args:
        method: Any one.
        state: S, as the run left it.
        model: The client's architecture.
        info: What it knows of itself.
        drawn: A client of this architecture that took part; None: there is none.

    Returns:
        False too where a method makes the personal model of the client's samples when it is asked
        for.
    """
    if method.beside_own:
        return True  # the model that it trains alone, which its validation samples may prefer
    if method.finalize is not None or method.needs.pooled:
        return False
    moved = model._replace(initial=map_tree(shifted, model.initial))
    own = method.client(model.initial, info)

    def personal(client: int, kept: Tree, of: Model) -> Sequence[Any]:
        received, no_samples = (
            method.broadcast(state, client),
            cast(ClientContext, NoSamples(info, of)),
        )
        return leaves(method.personal_models(received, kept, no_samples)["personal"])

    try:
        first = personal(info.client, own, model)
        other = personal(info.client, map_tree(shifted, own), moved)
        another = first if drawn is None else personal(drawn, own, model)
    except Exception:  # of any kind: a method may do anything with samples
        return False
    return _differ(first, other) or any(
        not same_leaf(mine, theirs)
        and any(same_leaf(mine, begun) for begun in model.initial.values())
        for mine, theirs in zip(first, another, strict=True)
    )


def _differ(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return any(not same_leaf(a, b) for a, b in zip(some, others, strict=True))


def shifted(leaf: Any) -> Any:
    """A leaf with other numbers, so that whatever is made of it differs.

    Args:
        leaf: Of a state.

    Returns:
        A tensor of floats plus 1; anything else as it is.
    """
    return leaf + 1 if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf


def same_leaf(a: Any, b: Any) -> bool:
    """Whether two leaves are equal, tensors in every number.

    Args:
        a: Of a state or a view.
        b: Of another one, at the same place.

    Returns:
        False too where only their shapes differ.
    """
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)
