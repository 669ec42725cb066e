"""What a client's context says of its round."""

import pytest
import torch

from fedkin.core.rng import Key
from fedkin.engine.codec import encode
from fedkin.engine.contexts import Schedule
from fedkin.engine.host import Task, drawing_from
from fedkin.setup.build import assemble, host_of
from tests.engine.small import small


@pytest.mark.parametrize(
    ("milestones", "rounds", "factors"),
    [
        ((), (1, 100), (1, 1)),
        ((2,), (1, 2, 3), (1, 1, 0.1)),
        ((2, 4), (2, 3, 4, 5, 9), (1, 0.1, 0.1, 0.01, 0.01)),
    ],
)
def test_schedule(milestones, rounds, factors):
    schedule = Schedule(20, steps=1, milestones=milestones, decay=0.1)
    assert [schedule.factor(number) for number in rounds] == pytest.approx(list(factors))


def test_milestones_reach_the_learning_rate(tmp_path):
    parts = assemble(small("local", train__milestones=[1], train__decay=1e-9))
    host = host_of(parts, [0], tmp_path)
    states = [encode(host.own(0))]
    for number in (1, 2):
        list(host.do("local", number, [Task(0, None)]))
        states.append(host.own(0))
    moved = (states[2]["parameters"]["1.weight"] - states[1]["parameters"]["1.weight"]).abs().max()
    assert moved < 1e-7
    assert encode(states[1]) != states[0]


def test_drawing_from_leaves_no_trace():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with drawing_from(1):
        one = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    with drawing_from(1):
        assert torch.equal(torch.rand(3), one)
    assert Key(0, 1, 2).integer("local:dropout") != Key(0, 2, 1).integer("local:dropout")
