"""Messages as whole numbers: sums of them are the exact mean, whatever the terms are."""

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.engine.masked_numbers import digits_for, largest_of, mean_of, vector_of
from fedkin.masks.wire import Refused

WEIGHTS = {3: 17.0, 4: 1.0, 9: 4096.0}


def _messages():
    found = {}
    for client in WEIGHTS:
        draw = Key(4, 0, client).numpy("numbers")
        wide = draw.standard_normal(31) * 10.0 ** draw.integers(-9, 3, 31)
        found[client] = {
            "parameters": {"b": torch.tensor(wide, dtype=torch.float32), "a": torch.zeros(0)},
            "control": (torch.tensor(draw.integers(0, 9, (2, 3))), torch.tensor([0.1 * client])),
        }
    return found


@pytest.mark.parametrize("weight", ["samples", "uniform"])
def test_the_sum_is_the_declared_mean_to_the_bit(weight):
    messages = _messages()
    how = WeightedSum(weight, ("parameters", "control"))
    plain = aggregated(how, {k: Reply(messages[k], WEIGHTS[k]) for k in messages})
    weights = {k: WEIGHTS[k] if weight == "samples" else 1.0 for k in messages}
    digits = digits_for(max(weights.values()))
    total = sum(vector_of(messages[k], weights[k], digits) for k in messages)
    mean = mean_of(total, messages[3], sum(weights.values()), len(messages))
    for kind, name in (("parameters", "b"), ("control", 0), ("control", 1)):
        assert torch.equal(mean[kind][name], plain.mean[kind][name])
        assert mean[kind][name].dtype == messages[3][kind][name].dtype
    assert mean["parameters"]["a"].shape == (0,)


def test_as_few_digits_as_carry_usual_numbers():
    assert [digits_for(w) for w in (1.0, 128.0, 129.0, 1e9)] == [2, 2, 3, 3]
    assert [largest_of(k) for k in (2, 3)] == [2.0**17, 2.0**57]


def test_what_is_too_large_is_refused_with_the_number():
    message = {"parameters": {"w": torch.tensor([1.0, -(2.0**17)])}}
    assert len(vector_of(message, 1.0, 2)) == 4
    with pytest.raises(Refused, match=r"times its weight 2, is above 1.31e\+05"):
        vector_of(message, 2.0, 2)
    assert len(vector_of(message, 2.0, 3)) == 6
    for digits in (0, 1, 5, 2**31):
        with pytest.raises(Refused, match="2 to 4 are sent"):
            vector_of(message, 1.0, digits)


def test_what_was_masked_with_other_keys_is_no_sum():
    noise = Key(1).numpy("noise").integers(0, 2**64, 62, dtype=np.uint64)
    like = {"parameters": {"w": torch.zeros(31)}}
    with pytest.raises(FedkinError, match="did not mask what it sent with the keys"):
        mean_of(noise, like, 3.0, 3)
    edge = np.full(62, 3 * 2**41, dtype=np.uint64)
    mean_of(edge, like, 3.0, 3)
    with pytest.raises(FedkinError, match="did not mask"):
        mean_of(edge + np.uint64(1), like, 3.0, 3)
    with pytest.raises(FedkinError, match="did not mask"):
        mean_of(np.uint64(0) - edge - np.uint64(1), like, 3.0, 3)
