"""What ``state_dict`` of a torch module is with other values of its parameters and statistics."""

from collections.abc import Callable, Mapping

from torch import Tensor, nn

from fedkin.core.tree import BUFFER

Values = Mapping[str, Tensor]


def state_dict_of(module: nn.Module) -> Callable[[Values], dict[str, Tensor]] | None:
    """How the parameters of a Model become what ``load_state_dict`` of its module takes.

    Args:
        module: As ``from_module`` takes it.

    Returns:
        (w) → a tensor for each key of ``module.state_dict()``: one that goes by two names twice,
        and buffers that are no part of w as they are in the module. None where the module names its
        state otherwise than its parameters and buffers.
    """
    own = {key: value for key, value in module.state_dict(keep_vars=True).items() if _is(value)}
    first = _first_names(module)
    if not own.keys() <= first.keys():
        return None

    def with_values(w: Values) -> dict[str, Tensor]:
        return {key: _value(w, first[key], value.detach()) for key, value in own.items()}

    return with_values


def _is(value: object) -> bool:
    """Whether it is no extra state, which is anything."""
    return isinstance(value, Tensor)


def _first_names(module: nn.Module) -> dict[str, str]:
    """Every name of a parameter or buffer → the first name that its tensor has."""
    first_names: dict[str, str] = {}
    for each in (module.named_parameters, module.named_buffers):
        names = {id(tensor): name for name, tensor in each()}
        for name, tensor in each(remove_duplicate=False):
            first_names[name] = names[id(tensor)]
    return first_names


def _value(w: Values, name: str, otherwise: Tensor) -> Tensor:
    for known in (name, BUFFER + name):
        if known in w:
            return w[known]
    return otherwise
