"""Whether a client that never took part deploys something that nobody trained.

No method declares it: a client's first personal state is moved a little, and where the personal
model moves with it, that model has a part which stays at the client.
"""

from typing import Any, NamedTuple, NoReturn, cast

import torch

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Model
from fedkin.core.tree import Tree, leaves, map_tree


class Nobody(NamedTuple):
    """A client without samples: whatever asks for some makes its model of them, and stops here."""

    info: ClientInfo
    model: Model

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise LookupError(f"{name} of a client without samples")

        return refuse


def begins_untrained(method: Method, state: Tree, model: Model, info: ClientInfo) -> bool:
    """Whether the personal model of a client that has not worked yet depends on what the method
    keeps at it, and no work after the last round is about to change that.

    Args:
        method: Any one.
        state: S, as the run left it.
        model: The client's architecture.
        info: What it knows of itself.

    Returns:
        False too where a method makes the personal model of the client's samples when it is asked
        for.
    """
    if method.beside_own:
        return True  # the model that it trains alone, which its validation samples may prefer
    if method.finalize is not None or method.needs.pooled:
        return False
    own, received = method.client(model.initial, info), method.broadcast(state, info.client)
    nobody = cast(ClientContext, Nobody(info, model))
    try:
        first, other = (
            leaves(method.personal_models(received, one, nobody)["personal"])
            for one in (own, map_tree(_moved, own))
        )
    except Exception:  # of any kind: a method may do anything with samples
        return False
    return any(not _same(a, b) for a, b in zip(first, other, strict=True))


def _moved(leaf: Any) -> Any:
    return leaf + 1 if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf


def _same(a: Any, b: Any) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)
