"""Which parameters of a model nobody trains: what [model] frozen names."""

from fedkin.core.errors import FedkinError
from fedkin.core.layers import Layers, select
from fedkin.core.model import Model, head_of
from fedkin.core.tree import is_buffer

BODY = "body"


def frozen_names(model: Model, choice: Layers) -> frozenset[str]:
    """The names of the parameters that [model] frozen means; running statistics go with their
    layer.

    Args:
        model: With all its parameters, and its head if it has one.
        choice: "body" for all that comes before the head, or what ``select`` takes.

    Returns:
        Names of ``model.initial``.

    Raises:
        FedkinError: A name that is not there, or nothing would be left to train.
    """
    if choice == BODY:
        return frozenset(model.initial) - set(head_of(model).names)
    names = select(model.initial, choice, f"model.frozen of {model.name!r}:")
    weights = [name for name in model.initial if not is_buffer(name)]
    if all(name in names for name in weights):
        raise FedkinError(
            f"model.frozen leaves nothing of model {model.name!r} to train: leave out some of "
            f"{', '.join(weights)}"
        )
    return names
