"""What ``state_dict`` of a torch module is with other values of its parameters and statistics, and
the names that these go by.
"""

from collections.abc import Callable, Iterator, Mapping

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
    state = module.state_dict(keep_vars=True)
    own = {key: value for key, value in state.items() if _is_tensor(value)}
    first = {**parameter_names(module), **_first_names(module.named_buffers)}
    if not own.keys() <= first.keys():
        return None

    def with_values(w: Values) -> dict[str, Tensor]:
        return {key: _value(w, first[key], value.detach()) for key, value in own.items()}

    return with_values


def _is_tensor(value: object) -> bool:
    """Whether it is no extra state, which is anything."""
    return isinstance(value, Tensor)


def parameter_names(module: nn.Module) -> dict[str, str]:
    """Every name of each parameter, in the module's order → the one that it goes by. Tied weights
    have several.

    Args:
        module: Any torch module.

    Returns:
        {name: the first name of the same parameter}.
    """
    return _first_names(module.named_parameters)


def _first_names(named: Callable[..., Iterator[tuple[str, Tensor]]]) -> dict[str, str]:
    """``named``: a module's ``named_parameters``, say."""
    first = {id(tensor): name for name, tensor in named()}
    return {name: first[id(tensor)] for name, tensor in named(remove_duplicate=False)}


def _value(w: Values, name: str, otherwise: Tensor) -> Tensor:
    for known in (name, BUFFER + name):
        if known in w:
            return w[known]
    return otherwise
