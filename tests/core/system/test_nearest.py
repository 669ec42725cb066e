"""The hint at the nearest valid value."""

from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from fedkin.core.system.nearest import closest


class Asked(BaseModel):
    momentum: float = Field(default=0.0, ge=0, lt=1)
    weights: Literal["samples", "uniform"] = "samples"
    steps: int = Field(default=1, lt=5)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"momentum": 1.5}, ": the nearest is just below, such as 0.999"),
        ({"momentum": -0.1}, ""),  # the message names the bound, which is valid itself
        ({"weights": "unifrom"}, ": did you mean 'uniform'?"),
        ({"weights": "xyz"}, ""),
        ({"steps": "many"}, ""),
    ],
)
def test_the_nearest_valid_value_is_named_where_the_message_does_not(given, expected) -> None:
    with pytest.raises(ValidationError) as refused:
        Asked(**given)
    assert closest(refused.value.errors()[0]) == expected
