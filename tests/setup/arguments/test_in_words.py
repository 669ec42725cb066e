"""What a caller gave, as it is shown again."""

import torch

from fedkin.setup.arguments.in_words import in_words


def test_plain_values_stay_and_others_are_said():
    assert in_words(0.1) == 0.1
    assert in_words("cnn") == "cnn"
    assert in_words({"x": 1}, data="1 row") != {"x": 1}
    assert repr(in_words({"x": 1}, data="1 row")) == "1 row"
    assert repr(in_words(torch.nn.Linear(2, 1))) == "Linear"
    assert repr(in_words(torch.nn.Linear)) == "Linear"
    assert in_words({"x": 1}) == {"x": 1}
