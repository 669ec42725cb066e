"""What a client's context says of its round."""

from fedkin.engine.codec import encode
from fedkin.engine.host import Task
from fedkin.setup.build import assemble, host_of
from tests.engine.small import small


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
