"""A space of a search as it is typed."""

import pytest

from fedkin.setup.arguments.typed_space import typed_space


@pytest.mark.parametrize("values", [0.5, [0.5], (0.5,), "0.5"])
def test_one_value_is_a_list_of_one(values) -> None:
    assert typed_space({"train.lr": values}) == ["train.lr=0.5"]
