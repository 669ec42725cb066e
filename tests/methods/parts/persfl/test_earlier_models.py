"""Which earlier models are kept, and what a newcomer is told of them."""

import torch

from fedkin.methods.parts.persfl.earlier_models import (
    message_of,
    places,
    round_of,
    thinned,
    with_earlier,
)


def model(number: int) -> dict[str, torch.Tensor]:
    return {"w": torch.tensor([float(number)])}


def test_kept_models_are_those_of_rounds_and_evenly_spread() -> None:
    state = {"parameters": model(0)}
    for number in range(1, 12):
        state = with_earlier({"parameters": model(number)}, state, number, 3)
        assert len(state["earlier"]) <= 3
        for name, w in state["earlier"].items():
            assert float(w["w"]) == int(name)  # the initial model, 0, is none
    assert list(state["earlier"]) == ["4", "8", "10"]
    assert thinned({str(k): model(k) for k in range(1, 7)}, 3).keys() == {"2", "4", "6"}


def test_a_newcomer_is_told_the_round_of_an_earlier_model() -> None:
    state = {"parameters": model(9), "earlier": {"2": model(2), "4": model(4)}}
    sent = [message_of(place) for place in places(state)]
    assert [float(one["parameters"]["w"]) for one in sent] == [9, 2, 4]
    assert [round_of(one, 9) for one in sent] == [9, 2, 4]
    assert message_of(state) == {"parameters": state["parameters"]}
