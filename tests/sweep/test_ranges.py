"""Ranges as a person types them."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.sweep.given_space import given_space
from fedkin.sweep.space import space_of


@pytest.mark.parametrize("typed", ["0.01 .. 0.3", "0.01..0.3", "0.01.. .3", "1e-2..3e-1"])
def test_a_range_needs_no_spaces_around_its_dots(typed: str) -> None:
    assert space_of([f"train.lr=log {typed}"]) == {"train.lr": (0.01, 0.3, True)}
    assert space_of([f"train.lr={typed}"]) == {"train.lr": (0.01, 0.3, False)}
    assert given_space({"train.lr": typed}) == {"train.lr": (0.01, 0.3, False)}
    assert space_of(["model.name=a/../b.py:Net"]) == {"model.name": ["a/../b.py:Net"]}


def test_what_begins_as_a_range_and_is_none_is_refused_with_one() -> None:
    with pytest.raises(FedkinError, match=r"log 0\.01-0\.3 has no range: write log 0\.001 \.\. 0"):
        space_of(["train.lr=log 0.01-0.3"])
