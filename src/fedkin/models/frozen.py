"""Which parameters of a model nobody trains: what [model] frozen names, and what asks for no
gradient.
"""

from collections.abc import Mapping

from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.layers import Layers, select
from fedkin.core.model import Model, head_of
from fedkin.core.tree import is_buffer

BODY = "body"


def without_gradient(module: nn.Module) -> frozenset[str]:
    """The names of the parameters whose ``requires_grad`` is False, as every integer's is.

    Args:
        module: Any torch module.

    Returns:
        Names as ``named_parameters`` has them.
    """
    return frozenset(name for name, value in module.named_parameters() if not value.requires_grad)


def frozen_names(
    model: Model,
    choice: Layers,
    fixed: frozenset[str] = frozenset(),
    called: Mapping[str, str] = {},
) -> frozenset[str]:
    """The names of the parameters that [model] frozen means; running statistics go with their
    layer.

    Args:
        model: With all its parameters, and its head if it has one.
        choice: "body" for all that comes before the head, or what ``select`` takes; () for none.
        fixed: Those that are frozen in any case.
        called: Every name of a parameter → its own; whichever is named, it is the same parameter.

    Returns:
        Names of ``model.initial``.

    Raises:
        FedkinError: A name that is not there, or nothing would be left to train.
    """
    names = fixed
    if choice == BODY:
        names |= _body(model)
    elif choice:
        known = {**{name: model.initial[own] for name, own in called.items()}, **model.initial}
        selected = select(known, choice, f"model.frozen of {model.name!r}:")
        names |= frozenset(called.get(name, name) for name in selected)
    weights = [name for name in model.initial if not is_buffer(name)]
    if not all(name in names for name in weights):
        return names
    if fixed.issuperset(weights):
        raise FedkinError(
            f"model {model.name!r} has nothing to train: requires_grad is False for all of its "
            "parameters"
        )
    raise FedkinError(
        f"model.frozen leaves nothing of model {model.name!r} to train: leave out some of "
        f"{', '.join(name for name in weights if name not in fixed)}"
    )


def _body(model: Model) -> frozenset[str]:
    """All that comes before the head. Raises FedkinError where the module calls a part of it so."""
    whole = frozenset(model.initial) - set(head_of(model).names)
    called = frozenset(name for name in whole if name.startswith(f"{BODY}."))
    if called and called != whole:
        others = sorted({f"{name.partition('.')[0]}." for name in whole - called})
        raise FedkinError(
            f"model.frozen = 'body' is all before the head, and {model.name!r} has a part of that "
            f"name beside {', '.join(others)}: write ['body.'] for the part, or "
            f"{['body.', *others]} for all of it"
        )
    return whole
