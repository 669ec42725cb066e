"""How much a round's learning rate is of the whole."""

import pytest

from fedkin.engine.contexts import Schedule


@pytest.mark.parametrize(
    ("milestones", "rounds", "factors"),
    [
        ((), (1, 100), (1, 1)),
        ((2,), (1, 2, 3), (1, 1, 0.1)),
        ((2, 4), (2, 3, 4, 5, 9), (1, 0.1, 0.1, 0.01, 0.01)),
    ],
)
def test_schedule(milestones, rounds, factors):
    schedule = Schedule(20, steps=1, milestones=milestones, milestone_factor=0.1)
    assert [schedule.factor(number) for number in rounds] == pytest.approx(list(factors))
