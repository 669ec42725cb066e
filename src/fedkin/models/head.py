"""Where a model's head begins: its last linear layer, or the module that [model] head names.

What enters the head is caught by a hook that is there during one forward pass alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.model import Head, Model
from fedkin.core.tree import Params, is_buffer

Pass = Callable[[Params, Tensor], Tensor]


class _Seen(NamedTuple):
    """What a module was given and what it made of it, once for each call."""

    given: list[Tensor]
    made: list[Any]


def some_samples(shape: tuple[int, ...], classes: int, tokens: bool, rows: int = 2) -> Tensor:
    """Samples that differ [rows, …]: numbers in [0, 1), or symbols.

    Args:
        shape: Of one sample.
        classes: How many symbols there are, where samples are symbols.
        tokens: Whether samples are symbols.
        rows: How many samples.

    Returns:
        [rows, …], float32 or int64; the same at each call.
    """
    count = rows * torch.Size(shape).numel()
    if tokens:
        return torch.arange(count).remainder(max(classes, 1)).view(rows, *shape)
    return torch.rand(count, generator=torch.Generator().manual_seed(0)).view(rows, *shape)


def with_head(model: Model, module: nn.Module, x: Tensor, named: str | None = None) -> Model:
    """The model with its head, or with the reason why it has none.

    Args:
        model: Made of ``module``.
        module: Its parts are looked through.
        x: A few samples that the model takes [rows, …].
        named: The name of the head among the module's parts; without it the last linear layer whose
            output is the module's.

    Returns:
        A model with ``head``, or with ``why_no_head``, which says why there is none.

    Raises:
        FedkinError: ``named`` is no part that may be a head.
    """
    parts = {name: part for name, part in module.named_modules() if name}
    if named is not None:
        if named not in parts:
            raise unknown(f"head of model {model.name!r}:", named, parts)
        head = _head(model, module, named, x)
        if isinstance(head, str):
            raise FedkinError(f"model.head = {named!r} of {model.name!r}: {head}")
        return _at_its_end(model, head)
    linear = [name for name, part in parts.items() if isinstance(part, nn.Linear)]
    reasons = []
    for name in reversed(linear):
        head = _head(model, module, name, x)
        if isinstance(head, Head):
            return _at_its_end(model, head)
        reasons.append(head)
    if len(linear) == 1 and reasons == [ALONE]:
        return model._replace(why_no_head=f"{ALONE}: choose one with a hidden layer, as dnn has")
    return model._replace(
        why_no_head="no linear layer's output is the model's: say which part of it is the head by "
        "model.head"
    )


def _at_its_end(model: Model, head: Head) -> Model:
    """The model with its head, whose parameters come last, wherever the module declares it: "last"
    of a method's layers is then the layer that makes the model's outputs.
    """
    names = [name for name in model.initial if not is_buffer(name)]
    if tuple(names[-len(head.names) :]) == head.names:
        return model._replace(head=head)
    order = [name for name in model.initial if name not in head.names]
    return model._replace(
        head=head, initial={name: model.initial[name] for name in (*order, *head.names)}
    )


ALONE = "it has one layer only, and nothing before it"


def _head(model: Model, module: nn.Module, name: str, x: Tensor) -> Head | str:
    """The part as a head, or why it cannot be one."""
    part = module.get_submodule(name)
    names = tuple(f"{name}.{inner}" for inner, _ in part.named_parameters())
    if not names or any(one not in model.initial for one in names):
        return "it has no parameters, or another layer has them too"
    if set(names) == set(model.initial):
        return ALONE
    if any(isinstance(inner, _NormBase | _DropoutNd) for inner in part.modules()):
        return "dropout and batch norm train otherwise than they predict: name a part after them"
    with torch.no_grad():
        seen, out = _watched(part, lambda: model.outputs(model.initial, x))
    if len(seen.given) != 1 or not isinstance(seen.made[0], Tensor):
        return f"a pass through the model calls it {len(seen.given)} times, and a head once"
    features, own = seen.given[0], seen.made[0]
    if features.dim() != 2 or len(features) != len(x):
        return f"it is given {list(features.shape)} for {len(x)} samples, not a row for each"
    if own.shape != out.shape or not torch.equal(own, out):
        return "its output is not the model's"
    head = Head(
        names,
        features.shape[1],
        isinstance(part, nn.Linear),
        features=_caught(part, model.outputs),
        train_features=_caught(part, model.train_outputs),
        scores=_scores(part, names, name),
    )
    with torch.no_grad():
        again = head.scores(model.initial, head.features(model.initial, x))
    return head if torch.allclose(again, out) else "called alone it gives other numbers"


def _watched(part: nn.Module, run: Callable[[], Tensor]) -> tuple[_Seen, Tensor]:
    seen = _Seen([], [])

    def keep(_: nn.Module, given: tuple[Any, ...], made: Any) -> None:
        seen.given.extend(given[:1])
        seen.made.append(made)

    handle = part.register_forward_hook(keep)
    try:
        return seen, run()
    finally:
        handle.remove()


def _caught(part: nn.Module, through: Pass) -> Pass:
    """(w, x) → what ``part`` is given in a pass."""

    def features(w: Params, x: Tensor) -> Tensor:
        seen, _ = _watched(part, lambda: through(w, x))
        return seen.given[0]

    return features


def _scores(part: nn.Module, names: tuple[str, ...], name: str) -> Pass:
    def scores(w: Params, features: Tensor) -> Tensor:
        own = {one.removeprefix(f"{name}."): w[one] for one in names}
        out: Tensor = torch.func.functional_call(part, own, (features,))
        return out

    return scores
