"""Every method's hyper-parameters: refused out of range by one sentence, recorded, made again."""

import inspect
import typing
from collections.abc import Sequence
from typing import Any

import pytest

from fedkin.core.aggregation import WeightedSum, Weights
from fedkin.core.errors import FedkinError
from fedkin.core.hyperparameters import Count, Fraction, Part, Positive, declared, in_range
from fedkin.core.method import Method
from fedkin.methods import METHODS, make
from fedkin.methods.ditto import ditto
from fedkin.methods.fedavg import fedavg
from tests.engine.small import METHODS as SMALL

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("ditto", {"lam": -0.5}, "method.lam of ditto: input should be greater than or equal to 0"),
    ("ditto", {"personal_steps": 0}, "method.personal_steps of ditto: input should be greater"),
    ("fedala", {"share": 0.0}, "method.share of fedala: input should be greater than 0, not 0.0"),
    ("l2sgd", {"p": 1.0}, "less than 1, not 1.0: the nearest is just below, such as 0.999"),
    ("hypcluster", {"trial": 1}, "method.trial of hypcluster: input should be greater than or"),
    ("finetune", {"epochs": 10**30}, "method.epochs of finetune: input should be less than or"),
    ("persfl", {"lams": []}, "method.lams of persfl: value should have at least 1 item"),
    ("persfl", {"lams": [0.5, 1.5]}, "method.lams.1 of persfl: input should be less than or"),
    ("apfl", {"mixture": "keep"}, "method.mixture of apfl: input should be 'kept' or 'received'"),
    ("feddf", {"weights": "size"}, "input should be 'samples' or 'uniform', not 'size'"),
    ("fedavg", {"weights": "unifrom"}, "not 'unifrom': did you mean 'uniform'?"),
    ("l2sgd", {"weights": "sample"}, "not 'sample': did you mean 'samples'?"),
    ("comet", {"lam": float("inf")}, "method.lam of comet: input should be a finite number"),
    ("partial_fl", {"schedule": "simultaneous", "personal_steps": 2}, "belongs to schedule"),
]


@pytest.mark.parametrize(("name", "given", "sentence"), WRONG)
def test_a_value_out_of_range_gets_one_sentence(
    name: str, given: dict[str, Any], sentence: str
) -> None:
    for made in (lambda: make(name, given, {"lr": 0.1}), lambda: METHODS[name](lr=0.1, **given)):
        with pytest.raises(FedkinError) as caught:
            made()
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_recorded_is_the_signature(name: str) -> None:
    method = make(name, SMALL[name], {"lr": 0.1})
    parameters = inspect.signature(METHODS[name]).parameters
    assert list(method.hyper) == list(parameters)
    for key, value in method.hyper.items():
        given = {"lr": 0.1, **SMALL[name]}.get(key, parameters[key].default)
        assert value == (tuple(given) if isinstance(given, list) else given), key
    assert make(name, dict(method.hyper), {}).hyper == method.hyper


@pytest.mark.parametrize("name", METHODS)
def test_every_number_but_the_rate_of_train_has_a_range(name: str) -> None:
    for key, hint in typing.get_type_hints(METHODS[name], include_extras=True).items():
        choices = () if typing.get_origin(hint) is typing.Annotated else typing.get_args(hint)
        if key not in ("lr", "return"):
            assert not {hint, *choices} & {int, float}, key


WEIGH_THEMSELVES = {"cgpfl_heur"}  # e(K) counts samples, whatever the mean's weights are


def test_weights_are_those_of_the_aggregation() -> None:
    for name, recipe in METHODS.items():
        if "weights" in inspect.signature(recipe).parameters:
            for weights in typing.get_args(Weights):
                method = make(name, {**SMALL[name], "weights": weights}, {"lr": 0.1})
                own = name in WEIGH_THEMSELVES
                assert method.aggregation.weight == (None if own else weights), name


def test_a_matrix_is_recorded_as_the_word() -> None:
    rows = [[1.0, 0.5], [0.5, 1.0]]
    assert make("ppfl", {"affinity": rows}, {"lr": 0.1}).hyper["affinity"] == "matrix"


@declared
def own(
    *, lr: float, steps: Count = 3, share: Fraction | None = None, weights: Weights = "uniform"
) -> Method:
    """A method over another one, whose numbers are not its own."""
    return ditto(lr=lr, lam=0.25, weights=weights)._replace(name="own")


def test_a_method_of_ones_own() -> None:
    method = own(lr=0.1, steps=4)
    assert method.hyper == {"lr": 0.1, "steps": 4, "share": None, "weights": "uniform"}
    assert isinstance(method.aggregation, WeightedSum)
    assert method.aggregation.weight == "uniform"
    assert own.__doc__ == "A method over another one, whose numbers are not its own."
    with pytest.raises(TypeError, match="stepps"):
        own(lr=0.1, stepps=4)  # type: ignore[call-arg]
    with pytest.raises(FedkinError, match=r"method\.steps of own: "):
        own(lr=0.1, steps=0)


def test_weights_of_another_name_are_refused() -> None:
    """They would stand in the record of a run, and weigh nothing."""

    @declared
    def renamed(*, lr: float, averaging: Weights | None = "uniform") -> Method:
        return fedavg(lr=lr)

    with pytest.raises(
        FedkinError, match=r"^method\.averaging of renamed: .* rename averaging to weights$"
    ):
        renamed(lr=0.1)


def test_weights_that_the_aggregation_is_not_given_are_refused() -> None:
    """They would stand in the record of a run, and weigh nothing."""

    @declared
    def forgetful(*, lr: float, weights: Weights = "uniform") -> Method:
        return fedavg(lr=lr)

    with pytest.raises(
        FedkinError,
        match=r"^method\.weights of forgetful is 'uniform', but its aggregation weighs by "
        r"'samples': give weights to it, as in aggregation=WeightedSum\(…, weight=weights\), or ",
    ):
        forgetful(lr=0.1)
    assert forgetful(lr=0.1, weights="samples").aggregation.weight == "samples"


def test_weights_of_ones_own_kind_are_left_alone() -> None:
    @declared
    def own(*, lr: float, weights: Sequence[float] = (1.0, 2.0)) -> Method:
        """Weights of classes."""
        return fedavg(lr=lr, weights="uniform")

    assert own(lr=0.1).hyper["weights"] == (1.0, 2.0)
    assert own(lr=0.1).aggregation.weight == "uniform"


def test_a_method_of_another_package_declares_nothing_and_is_checked_all_the_same() -> None:
    def foreign(*, lr: float, rate: Positive = 1.0, part: Part = 1.0) -> Method:
        return fedavg(lr=lr)._replace(hyper={"mine": rate})

    assert in_range(foreign)(lr=0.1).hyper == {"mine": 1.0}
    with pytest.raises(FedkinError, match=r"method\.rate of theirs: .* greater than 0"):
        in_range(foreign, "theirs")(lr=0.1, rate=0.0)


def test_true_and_false_are_no_numbers() -> None:
    for key, value in (("steps", True), ("share", False), ("lr", True)):
        with pytest.raises(
            FedkinError, match=rf"method\.{key} of own: it must be a number, not {value}"
        ):
            own(**{"lr": 0.1, key: value})
    assert make("apfl", {"adaptive": False}, {"lr": 0.1}).hyper["adaptive"] is False
