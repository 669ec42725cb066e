"""Hyper-parameters are declared once, in a method's signature: ranges are checked, values recorded.

@declared
def ditto(*, lr: float, lam: NotNegative = 1.0, weights: Weights = "samples") -> Method: ...

The words of a signature all come from here, ``Weights`` and ``Layers`` too.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, Field, ValidationError, validate_call

from fedkin.core.aggregation import Weights as Weights
from fedkin.core.counts import truth_for_number
from fedkin.core.errors import FedkinError
from fedkin.core.layers import Layers as Layers
from fedkin.core.method import Method
from fedkin.core.system.nearest import closest

__all__ = [
    "FINITE",
    "MOST",
    "Between",
    "Count",
    "Fraction",
    "Fractions",
    "Layers",
    "Momentum",
    "NotNegative",
    "OutOfRange",
    "Part",
    "Positive",
    "Positives",
    "Several",
    "Start",
    "Weights",
    "Whole",
    "as_recorded",
    "declared",
    "in_annotations",
    "in_range",
    "weighted_by",
]

Given = ParamSpec("Given")
Made = TypeVar("Made")
FINITE = ConfigDict(allow_inf_nan=False, defer_build=True)

NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Part = Annotated[float, Field(gt=0, le=1)]
Momentum = Annotated[float, Field(ge=0, lt=1)]
Between = Annotated[float, Field(gt=0, lt=1)]  # neither 0 nor 1
MOST = 1_000_000_000  # of anything that is counted: far above what any machine carries out
Whole = Annotated[int, Field(ge=0, le=MOST)]
Count = Annotated[int, Field(ge=1, le=MOST)]
Several = Annotated[int, Field(ge=2, le=MOST)]
Fractions = Annotated[Sequence[Fraction], Field(min_length=1)]
Positives = Annotated[Sequence[Positive], Field(min_length=1)]
WEIGHTS = "weights"  # the parameter that the aggregation of a method must go by
Start = Literal["persistent", "received"]  # what a personal model goes on from in a round


def declared(recipe: Callable[Given, Method]) -> Callable[Given, Method]:
    """A method whose hyper-parameters are what its signature says.

    Values outside an annotation's range are refused. All of them, defaults too, become
    ``Method.hyper``, a matrix as the word "matrix". ``weights`` must be what the method's
    aggregation has (``weighted_by``).

    Args:
        recipe: A function of keyword-only hyper-parameters.

    Returns:
        The same function, which raises FedkinError for a value out of range, for ``Weights`` of
        another name, and for weights that it did not give to its aggregation.
    """

    @wraps(recipe)
    def recorded(*args: Given.args, **values: Given.kwargs) -> Method:
        method = weighted_by(recipe(*args, **values), values, recipe.__name__)
        return method._replace(hyper=as_recorded(values))

    return in_range(recorded)


def weighted_by(method: Method, values: Mapping[str, Any], called: str) -> Method:
    """The method, if its aggregation weighs by the ``weights`` that its recipe was given: by
    "samples", p_i = n_i / Σ n, or "uniform", 1 / (number of replies).

    Args:
        method: Any; an aggregation whose weight is None weighs by itself.
        values: The recipe's hyper-parameters by their names; ``weights`` that are no word of
            ``Weights`` are something of the method's own.
        called: What messages call the method.

    Returns:
        The method.

    Raises:
        FedkinError: The aggregation goes by other weights: they would stand in the record, and
            weigh nothing.
    """
    weights, has = values.get(WEIGHTS), method.aggregation.weight
    known = isinstance(weights, str) and weights in get_args(Weights)
    if known and has is not None and has != weights:
        kind = type(method.aggregation).__name__
        raise FedkinError(
            f"method.weights of {called} is {weights!r}, but its aggregation weighs by {has!r}: "
            f"give weights to it, as in aggregation={kind}(…, weight=weights), or to the method "
            "that it is made of, as in fedavg(lr=lr, weights=weights)"
        )
    return method


def as_recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Hyper-parameters as a run writes them down.

    Args:
        values: By their names.

    Returns:
        The same; a sequence as a tuple, a matrix as the word "matrix".
    """
    return {key: _record(value) for key, value in values.items()}


def in_range(recipe: Callable[Given, Method], name: str | None = None) -> Callable[Given, Method]:
    """A function that refuses what its annotations do not allow, and numbers that are not finite.

    Args:
        recipe: A function that makes a method.
        name: What messages call the method; the function's own name if not given.

    Returns:
        The function, which raises FedkinError for the first wrong value, and where a parameter that
        is ``Weights`` has another name than the one by which they are applied.
    """
    called = name or recipe.__name__
    checked = in_annotations(recipe)

    @wraps(recipe)
    def made(*args: Given.args, **given: Given.kwargs) -> Method:
        _check_weights(recipe, called)
        try:
            return checked(*args, **given)
        except OutOfRange as error:
            raise FedkinError(f"method.{error.key} of {called}: {error}") from None

    return made


class OutOfRange(ValueError):
    """A value that an annotation does not allow: what it should be, and what it is.

    Args:
        key: The parameter, with the place inside it.
        says: In words that follow its name.
    """

    def __init__(self, key: str, says: str) -> None:
        super().__init__(says)
        self.key = key


def in_annotations(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """A function that refuses what its annotations do not allow: numbers that are not finite, and
    true and false for numbers.

    Args:
        function: Each parameter has its annotation.

    Returns:
        The function, which raises OutOfRange for the first wrong value, and TypeError for arguments
        that it does not take.
    """
    signature = inspect.signature(function)
    validated = validate_call(config=FINITE)(function)

    @wraps(function)
    def checked(*args: Given.args, **given: Given.kwargs) -> Made:
        for key, value in signature.bind(*args, **given).arguments.items():
            if truth_for_number(value, signature.parameters[key].annotation):
                raise OutOfRange(key, f"it must be a number, not {value!r}")
        try:
            return validated(*args, **given)
        except ValidationError as error:
            key, reason, value, hint = _wrong(error)
            raise OutOfRange(key, f"{reason}, not {value!r}{hint}") from None

    return checked


def _check_weights(recipe: Callable[..., Method], called: str) -> None:
    """Refuses what would be recorded, and weigh nothing."""
    try:
        hints = get_type_hints(recipe)
    except Exception:  # a name in an annotation that is not there: pydantic speaks of it
        return
    for key, hint in hints.items():
        if key not in (WEIGHTS, "return") and _holds_weights(hint):
            raise FedkinError(
                f"method.{key} of {called}: Weights weigh the server's mean only where the "
                f"parameter is called weights: rename {key} to weights"
            )


def _holds_weights(hint: Any) -> bool:
    return hint == Weights or any(map(_holds_weights, get_args(hint)))


def _record(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    matrix = any(isinstance(row, Sequence) and not isinstance(row, str) for row in value)
    return "matrix" if matrix else tuple(value)


def _wrong(error: ValidationError) -> tuple[str, str, Any, str]:
    """(key, what it should be, what it is, the nearest) of the first wrong hyper-parameter; of all
    kinds of value it may have.
    """
    first, *others = error.errors()
    same = [
        first,
        *(
            one
            for one in others
            if one["loc"][0] == first["loc"][0] and one["input"] == first["input"]
        ),
    ]
    reasons = dict.fromkeys(one["msg"][0].lower() + one["msg"][1:] for one in same)
    path = first["loc"] if len(reasons) == 1 else first["loc"][:1]
    hint = next(filter(None, map(closest, same)), "")
    return ".".join(map(str, path)), " or ".join(reasons), first["input"], hint
