"""A space of values, and one of texts."""

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from fedkin.sweep.given_space import given_space
from fedkin.sweep.space import changed


@pytest.mark.parametrize("values", [0.5, [0.5], (0.5,), np.float64(0.5), np.array([0.5])])
def test_one_value_is_a_list_of_one(values) -> None:
    assert given_space({"train.lr": values}) == given_space("train.lr=0.5") == {"train.lr": [0.5]}


def test_values_stay_what_they_are() -> None:
    space = given_space(
        {
            "model.deep": [True, False],
            "model.name": ["dnn:hidden=16,depth=2"],
            "model.hidden": (np.int64(3), (4, 5)),
            "train.lr": "log 0.1 .. 1",
        }
    )
    assert space == {
        "model.deep": [True, False],
        "model.name": ["dnn:hidden=16,depth=2"],
        "model.hidden": [3, [4, 5]],
        "train.lr": (0.1, 1.0, True),
    }
    assert [type(value) for value in space["model.deep"]] == [bool, bool]
    with pytest.raises(FedkinError, match="number"):
        changed(Spec(), {"train.lr": given_space({"train.lr": "0.1, 0.2"})["train.lr"][0]})


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, "nothing to search"),
        ({"train.lr": []}, "train.lr has no values"),
        ({"train.lr": [0.1, None]}, "train.lr cannot be searched over None"),
        ({"method.name": [print]}, "method.name cannot be searched over <built-in"),
    ],
)
def test_what_no_specification_holds_is_refused(space, said: str) -> None:
    with pytest.raises(FedkinError, match=said):
        given_space(space)
