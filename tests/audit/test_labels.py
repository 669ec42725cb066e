"""Whether a message gives away which classes its sender has."""

import numpy as np
import pytest
import torch

from fedkin.audit.labels import correlation, inferred
from fedkin.audit.losses import Observed

W = {"hidden.bias": torch.zeros(3), "out.bias": torch.tensor([1.0, 2.0, 3.0])}


def seen(message, received=None):
    return Observed({}, message, {"parameters": W} if received is None else received)


def test_the_bias_of_the_last_layer_moves_towards_what_the_client_has() -> None:
    after = {"hidden.bias": torch.full((3,), 9.0), "out.bias": torch.tensor([1.5, 2.0, 2.0])}
    kind, scores = inferred(seen({"parameters": after}), 3)
    assert kind == "parameters"
    assert scores.tolist() == [0.5, 0, -1]
    assert inferred(seen({"parameters": after}), 4) is None  # no layer of that width
    assert inferred(seen({"parameters": after}, {}), 3) is None  # nothing to compare with


def test_of_several_models_received_the_one_that_was_trained_counts() -> None:
    both = torch.tensor([[9.0, 9.0, 0.0], [1.0, 2.0, 3.0]])
    after = {"out.bias": torch.tensor([1.5, 2.0, 2.0])}
    _, scores = inferred(seen({"parameters": after}, {"parameters": {"out.bias": both}}), 3)
    assert scores.tolist() == [0.5, 0, -1]
    _, scores = inferred(seen({"parameters": after}, {"parameters": {"out.bias": both.flip(0)}}), 3)
    assert scores.tolist() == [0.5, 0, -1]
    other = {"parameters": {"out.bias": torch.zeros(3, 2)}}  # of another layer
    assert inferred(seen({"parameters": after}, other), 3) is None


@pytest.mark.parametrize("logarithms", [True, False])
def test_predictions_tell_their_mean(logarithms) -> None:
    rows = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])
    kind, told = inferred(seen({"predictions": rows.log() if logarithms else rows}), 3)
    assert kind == "predictions"
    assert told.tolist() == pytest.approx([0.3125, 0.5, 0.1875])


def test_who_says_what_is_special_about_it_is_found_out() -> None:
    counts = torch.tensor([[30, 0, 10], [0, 8, 0], [5, 5, 90]])
    shares = (counts / counts.sum(1, keepdim=True)).double().numpy()
    assert correlation(dict(enumerate(7 * shares + 3)), counts) == pytest.approx(1)
    assert correlation(dict(enumerate(-shares)), counts) == pytest.approx(-1)
    two = {2: shares[2], 0: shares[0]}  # of some clients, whatever their order
    assert correlation(two, counts) == pytest.approx(1)
    swapped = {0: shares[2], 2: shares[0]}
    assert correlation(swapped, counts) == pytest.approx(-1)


def test_who_says_nothing_tells_nothing() -> None:
    counts = torch.tensor([[30, 0], [0, 8]])
    assert correlation({0: np.ones(2), 1: np.ones(2)}, counts) is None
    assert correlation({0: np.ones(2)}, counts) is None
    assert correlation({}, counts) is None
