"""The name of a Method that is given as a Python value."""

from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.methods import make
from fedkin.methods.fedavg import fedavg
from fedkin.setup.arguments.method_value import check_called, check_value
from tests.engine.small import METHODS


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "a\\b", "a\nb", "a:b"])
def test_a_name_that_names_no_folder_is_refused(name: str) -> None:
    with pytest.raises(FedkinError, match="which names no folder"):
        check_called(fedavg(lr=0.1)._replace(name=name))


def test_a_method_with_the_name_of_another_is_told() -> None:
    assert check_called(fedavg(lr=0.1)._replace(name="my method (2)")) == []
    for changed in ({"name": "ditto"}, {"client_metrics": lambda state: {}}):
        (said,) = check_called(fedavg(lr=0.1)._replace(**changed))
        assert "give it a name of its own" in said
    assert check_called(fedavg(lr=0.1)._replace(hyper={"mix": 1}))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_fedkin_s_may_have_its_name(name: str) -> None:
    assert check_called(make(name, METHODS[name], {"lr": 0.1, "rounds": 9})) == []


def halfway(*, lr: float) -> Method:
    return fedavg(lr=lr)._replace(name="halfway")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (halfway, r"a function: call it, as halfway\(lr=0.1\)"),
        ("fedavg", "a str: leave a name out"),
    ],
)
def test_what_is_no_value_is_told(given: Any, says: str) -> None:
    with pytest.raises(FedkinError, match=says):
        check_value(given)
    check_value(None)
    check_value(halfway(lr=0.1))
