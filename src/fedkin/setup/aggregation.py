"""What a method declares its server to need of the replies, checked before a run: a name that means
nothing would be taken for another one.
"""

from typing import get_args

from fedkin.core.aggregation import EachClient, GroupedSum, WeightedSum, Weights
from fedkin.core.errors import FedkinError, cut, near
from fedkin.core.kinds import KINDS
from fedkin.core.method import Method

WEIGHTS: tuple[str, ...] = get_args(Weights)


def check_aggregation(method: Method) -> None:
    """Refuse a declaration with a weight or a kind that there is not, or a group that is none.

    Args:
        method: Whose ``aggregation`` is looked at.

    Raises:
        FedkinError: It is no aggregation; or names the nearest weight or kind; or its group is no
            function.
    """
    how = method.aggregation
    if not isinstance(how, WeightedSum | GroupedSum | EachClient):
        raise FedkinError(
            f"method {method.name}: its aggregation is a {type(how).__name__}, not a WeightedSum, "
            "a GroupedSum or an EachClient"
        )
    if how.weight not in WEIGHTS and not (how.weight is None and isinstance(how, EachClient)):
        raise _unknown(method.name, "weight", how.weight, WEIGHTS)
    if isinstance(how, EachClient):
        return
    if isinstance(how, GroupedSum) and not callable(how.group):
        raise FedkinError(
            f"method {method.name}: the group of its aggregation is {cut(repr(how.group), 60)}, "
            "and no name stands for one: write a function of a client's message without the kinds "
            'that are summed, as GroupedSum(lambda message: (int(message["control"]["cluster"]),))'
        )
    kinds = (how.kinds,) if isinstance(how.kinds, str) else tuple(how.kinds)
    differences = how.differences if isinstance(how, WeightedSum) else ()
    for kind in (*kinds, *differences):
        if kind not in KINDS:
            raise _unknown(method.name, "kind", kind, KINDS)
    if isinstance(how.kinds, str):  # "parameters" would be nine kinds of one letter
        raise FedkinError(
            f"method {method.name}: the kinds of its aggregation are a text: write "
            f"kinds=({how.kinds!r},)"
        )


def _unknown(method: str, what: str, name: object, choices: tuple[str, ...]) -> FedkinError:
    hint = near(name, choices) if isinstance(name, str) else ""
    return FedkinError(
        f"method {method}: its aggregation has the unknown {what} {cut(repr(name), 60)}{hint} "
        f"(choices: {', '.join(choices)})"
    )
