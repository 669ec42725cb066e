"""The server's tools of a round."""

import torch

from fedkin.core.rng import Key
from fedkin.engine.contexts import Schedule, ServerTools
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime


def test_rows_are_of_the_round_and_the_purpose_and_the_rate_is_the_rounds():
    model = build("mlr", (1, 2, 3), 4, Key(3))
    schedule = Schedule(20, steps=1, milestones=(1,), milestone_factor=0.5)

    def rows(round, purpose):
        tools = ServerTools(Key(9, round), {}, None, None, Runtime("never"), schedule)
        drawn = tools.rows(model, (torch.arange(50),), 5, 6, purpose)
        return tools.decay, drawn.gather(0, 6)[0].tolist()

    assert rows(1, "a") == rows(1, "a")
    assert [rows(1, "a")[0], rows(2, "a")[0]] == [1.0, 0.5]
    assert rows(1, "a")[1] != rows(2, "a")[1]
    assert rows(1, "a")[1] != rows(1, "b")[1]
