"""Whether a client's personal model is made of more than its server sends.

No method declares it. The model is made once for a client whose samples nobody may ask for, and
whose own state nobody may read: where the method does either, it is made of more.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, cast

from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Model
from fedkin.core.tree import Tree
from fedkin.engine.untrained import NoSamples


class ModelSources(NamedTuple):
    """What a personal model is made of beside what the server sends: the state that the client
    keeps from round to round, and its samples as they are (in work after the last round, too).
    """

    own: bool
    samples: bool


def model_sources(method: Method, received: Tree, model: Model, info: ClientInfo) -> ModelSources:
    """What a client's personal model is made of beside what the server sends.

    Args:
        method: As the client runs it.
        received: What the server sends the client. What a method asks for in later rounds alone is
            not seen.
        model: The client's architecture.
        info: What the client knows of itself.

    Returns:
        Both, too, where the method makes no model without samples for another reason.
    """
    own = method.client(model.initial, info)
    # who reads the histogram of labels fails, as who asks for samples does
    unread = info._replace(histogram=cast(Tensor, _Unread({})))
    no_samples = cast(ClientContext, NoSamples(unread, model))

    def needs(state: Tree) -> bool:
        """Whether no model is made of what the server sends, without samples and this state."""
        try:
            view = method.personal_models(received, state, no_samples)["personal"]
        except Exception:  # of any kind: a method may do anything with samples
            return True
        return _has_unread(view)

    after = method.finalize is not None or method.beside_own
    return ModelSources(after or needs(_Unread(own)), after or needs(own))


def _has_unread(tree: Tree) -> bool:
    if isinstance(tree, _Unread):
        return True
    parts = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, tuple) else ()
    return any(map(_has_unread, parts))


class _Unread(Mapping[str, Any]):
    """A state that may be passed on, and its parts too, and in which nobody may read."""

    def __init__(self, state: Tree) -> None:
        self._state = state

    def __getitem__(self, name: str) -> "_Unread":
        part = self._state.get(name)
        return _Unread(part) if isinstance(part, Mapping) else self._refuse()

    def __iter__(self) -> Iterator[str]:
        return self._refuse()

    def __len__(self) -> int:
        return self._refuse()

    def __contains__(self, name: object) -> bool:
        return self._refuse()

    def _refuse(self) -> NoReturn:
        raise RuntimeError("a client's own state is read")
