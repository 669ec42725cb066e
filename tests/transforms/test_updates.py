"""Messages as vectors of updates."""

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.transforms.updates import base_of, flattened, unflattened


def test_a_difference_counts_from_zero_and_a_value_from_what_was_received():
    received = {"parameters": {"w": torch.tensor([10.0, 7.0]), "buffer:n": torch.tensor([2.0])}}
    sent = {"parameters": {"w": torch.tensor([0.5, 0.25]), "buffer:n": torch.tensor([3.0])}}
    assert base_of(sent, received, ("parameters",)).tolist() == [0, 0, 2]
    assert base_of(sent, received, ("control",)).tolist() == [10, 7, 2]
    with pytest.raises(FedkinError, match="clients send coefficients/a, which they were not sent"):
        base_of({"coefficients": {"a": torch.zeros(1)}}, received, ())


def test_a_tree_goes_through_a_vector_and_back():
    tree = {"a": {"x": torch.arange(6.0).reshape(2, 3), "e": torch.zeros(0)}, "n": (torch.ones(1),)}
    again = unflattened(flattened(tree), tree)
    assert torch.equal(again["a"]["x"], tree["a"]["x"])
    assert again["a"]["e"].shape == (0,)
    assert isinstance(again["n"], tuple)
