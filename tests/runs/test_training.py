"""[train] and [server]."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.optimizers import Optimizer
from fedkin.runs.spec import parse
from fedkin.runs.training import TrainSection


def test_every_setting_reaches_its_place_in_the_optimizer() -> None:
    found = TrainSection.model_validate(
        {
            "momentum": 0.9,
            "nesterov": True,
            "betas": (0.8, 0.95),
            "eps": 1e-6,
            "weight_decay": 5e-4,
            "decay_biases": False,
            "clip": 3.0,
        }
    ).made_with()
    assert found == Optimizer("sgd", 0.9, True, (0.8, 0.95), 1e-6, 5e-4, False, 3.0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"steps": 3, "epochs": 1}, "give steps or epochs, not both"),
        ({"optimizer": "adam", "momentum": 0.9}, "momentum is of sgd: for adam set train.betas"),
        ({"nesterov": True}, "nesterov needs a momentum above 0"),
        ({"schedule": "cosine", "milestones": [3]}, "milestones are of schedule 'steps'"),
        ({"betas": [0.9, 1.0]}, "less than 1"),
        ({"milestones": [0, 2]}, "greater than or equal to 1"),
    ],
)
def test_what_does_not_go_together(content: dict[str, object], said: str) -> None:
    with pytest.raises(FedkinError) as told:
        parse({"train": content}, where="x.toml")
    assert said in str(told.value)
