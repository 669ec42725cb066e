"""Running statistics go with their layer."""

import pytest

from fedkin.core.layers import select
from tests.methods.partial_fl_examples import (
    CHOICES,
    normed,
)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_running_statistics_go_with_their_layer(choice):
    assert select(normed().initial, choice, "layer") == CHOICES[choice]


def test_the_last_layers_statistics_are_part_of_it():
    assert select({"a.weight": 0, "b.weight": 0, "buffer:b.mean": 0}, "last", "layer") == {
        "b.weight",
        "buffer:b.mean",
    }
