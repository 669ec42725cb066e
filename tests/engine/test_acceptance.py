"""Replies that are far from the others."""

import pytest

from benchmarks.checks import made_again
from fedkin.engine.acceptance import FAR, far_off
from tests.engine.coordinated import federation


def test_numbers_that_are_far_from_the_others():
    usual = {client: {"parameters": 0.5} for client in (3, 1, 8)}
    assert not far_off({**usual, 2: {"parameters": FAR}})
    assert list(far_off({**usual, 2: {"parameters": 1.1 * FAR}})) == [2]
    assert not far_off({client: {"parameters": 1e9} for client in (3, 1, 8)})  # all of one size
    assert list(far_off({1: {"predictions": 2.0}, 0: {"predictions": 1e6}})) == [0]
    assert not far_off({4: {"parameters": 1e9}})
    assert not far_off({1: {}, 2: {}})


class Late:
    """A transport whose client 4 answers with another version of the server's state."""

    def __init__(self, inner, version):
        self.inner, self.version = inner, version

    def ask(self, op, round, orders):
        for answer in self.inner.ask(op, round, orders):
            late = answer.client == 4 and op == "local"
            yield answer._replace(version=self.version) if late else answer

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.mark.parametrize(
    ("version", "said"), [(-1, "the state after round -1"), (None, "no state")]
)
@pytest.mark.parametrize("method", ["fedavg", "comet"])
def test_who_answers_another_state_is_left_out_with_both_versions(method, version, said):
    one = federation(method, run__participation=1.0)
    one.setup()
    one.transport = Late(one.transport, version)
    record = one.round(1)
    assert record.missing == {4: f"it answers {said} of the server, this round's is after round 0"}
    assert 4 not in [sent.client for sent in record.sent if sent.direction == "up"]


@pytest.mark.parametrize("method", ["fedavg", "comet", "ifca"])
def test_every_answer_says_which_state_it_answers(method, monkeypatch):
    said = []
    one = federation(method, run__participation=1.0)
    monkeypatch.setattr(
        "fedkin.engine.round.replies.check_version",
        lambda answer, version: said.append((answer.version, version)),
    )
    one.setup()
    one.round(1)
    one.round(2)
    assert {pair[0] for pair in said} >= {0, 1}
    assert all(ours == theirs for ours, theirs in said)


def test_the_benchmark_of_checks_repeats_those_that_a_round_makes(monkeypatch):
    said = []
    monkeypatch.setattr(
        "fedkin.engine.round.replies.check_version",
        lambda answer, version: said.append(answer.client),
    )
    one = federation("fedavg", run__participation=1.0)
    one.round(1)
    once = len(said)
    with made_again(2):
        one.round(2)
    assert len(said) == 4 * once
