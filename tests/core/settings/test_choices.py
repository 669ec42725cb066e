"""Every value that a key may have is carried out, and no other."""

from typing import get_args, get_type_hints

import pytest
import torch

from fedkin.core.optimizers import AT_SERVER, Optimizer, fresh
from fedkin.core.settings.choices import AtServer, ClientOptimizer, Compiling, RateShape
from fedkin.engine.contexts import Schedule
from fedkin.runs.spec import EngineSection
from fedkin.runs.training import ServerSection, TrainSection
from fedkin.transforms.server_optimizer import ServerOptimizer


@pytest.mark.parametrize(
    ("section", "key", "choices"),
    [
        (TrainSection, "optimizer", ClientOptimizer),
        (TrainSection, "schedule", RateShape),
        (ServerSection, "optimizer", AtServer),
        (EngineSection, "compile", Compiling),
        (Optimizer, "name", ClientOptimizer),
        (Schedule, "shape", RateShape),
        (ServerOptimizer, "name", AtServer),
    ],
)
def test_a_key_has_the_choices_of_what_carries_it_out(section, key, choices) -> None:
    assert get_type_hints(section)[key] == choices


def test_every_optimizer_is_one() -> None:
    assert set(AT_SERVER.values()) < set(get_args(AtServer))
    w = {"w": torch.ones(2)}
    for name in get_args(ClientOptimizer):
        assert isinstance(fresh(Optimizer(name), w), dict), name
