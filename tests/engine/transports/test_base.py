"""The three verbs of a transport, in process."""

from types import SimpleNamespace

import pytest
import torch

from fedkin.engine.transports.base import InProcess, one_thread


class Host:
    """It notes what it is asked for, and with how many threads."""

    def __init__(self):
        self.asked = []
        self.runtime = SimpleNamespace(said=["a remark"])
        self.partial_sums = SimpleNamespace(sum=lambda clients: ("sum", tuple(clients)))

    def do(self, op, round, orders):
        for order in orders:
            self.asked.append((op, round, order, torch.get_num_threads()))
            yield f"answer {order}"

    def save(self, folder, round):
        return [(folder, round)]

    def load(self, states):
        self.asked.append(states)

    def digest(self, client):
        return f"digest {client}"


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_host_works_with_one_thread_and_gives_the_others_back() -> None:
    host = Host()
    transport = InProcess(host)
    assert list(transport.ask("local", 3, iter("ab"))) == ["answer a", "answer b"]
    assert host.asked == [("local", 3, "a", 1), ("local", 3, "b", 1)]
    assert torch.get_num_threads() == 2


def test_answers_come_as_they_are_asked_for() -> None:
    host = Host()
    answers = InProcess(host).ask("local", 1, iter("ab"))
    assert host.asked == []
    next(answers)
    assert len(host.asked) == 1
    answers.close()
    assert torch.get_num_threads() == 2


def test_the_other_verbs_reach_the_host() -> None:
    host = Host()
    transport = InProcess(host)
    assert transport.sums([4, 2]) == [("sum", (4, 2))]
    assert transport.save("there", 7) == [("there", 7)]
    transport.load({1: "file"})
    assert host.asked == [{1: "file"}]
    assert transport.digests([3, 1]) == {3: "digest 3", 1: "digest 1"}
    assert transport.remarks() == ["a remark"]
    host.partial_sums = None
    with pytest.raises(AssertionError):
        transport.sums([1])


def test_threads_come_back_after_an_error() -> None:
    def fails():
        with one_thread():
            raise KeyError(torch.get_num_threads())

    with pytest.raises(KeyError, match="1"):
        fails()
    assert torch.get_num_threads() == 2
