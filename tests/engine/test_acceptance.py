"""Replies that are far from the others."""

import pytest
import torch

from benchmarks.checks import made_again
from fedkin.core.rng import seeded
from fedkin.core.tree import named_leaves
from fedkin.engine.acceptance import FAR, accepted, far_off
from fedkin.engine.codec import encode
from fedkin.engine.op import TaskResult
from fedkin.experiment.run import experiment
from fedkin.methods.fedavg import fedavg
from tests.engine.coordinated import Meddling, coordinated, federation, with_message
from tests.engine.small import content


def test_numbers_that_are_far_from_the_others():
    usual = {client: {"parameters": 0.5} for client in (3, 1, 8)}
    assert not far_off({**usual, 2: {"parameters": FAR}})
    assert list(far_off({**usual, 2: {"parameters": 1.1 * FAR}})) == [2]
    assert not far_off({client: {"parameters": 1e9} for client in (3, 1, 8)})  # all of one size
    assert list(far_off({1: {"predictions": 2.0}, 0: {"predictions": 1e6}})) == [0]
    centroids = {client: {"centroids": 0.5} for client in (3, 1, 8)}
    assert list(far_off({**centroids, 2: {"centroids": 9e29}})) == [2]
    assert not far_off({4: {"parameters": 1e9}})
    assert not far_off({1: {}, 2: {}})


def test_introductions_with_enormous_centroids_end_no_round():
    one = federation("feddbe", run__participation=1.0)

    def enormous(message):
        return {**message, "centroids": torch.full_like(message["centroids"], 9e29)}

    one.transport = Meddling(one.transport, with_message(enormous), ("introduce",))
    assert set(one.setup().missing) == {1, 4}
    assert not one.round(1).missing


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


def backwards(tree):
    """The same entries, the last one first."""
    if not isinstance(tree, dict):
        return tree
    return {name: backwards(child) for name, child in reversed(tree.items())}


def after_two_rounds(method, reorder, aside=None, **sections):
    """The fingerprint; with ``reorder`` clients 0 and 4 send their entries backwards."""
    spec = experiment({**content(method, run__participation=1.0), **sections})
    one = coordinated(spec, seeded(3))
    one._receiver.aside = aside
    if reorder:
        one.transport = Meddling(one.transport, with_message(backwards), clients=(0, 4))
    one.setup()
    for number in (1, 2):
        assert not one.round(number).missing
    return one.fingerprint()


PRIVACY = {"noise": 1.0, "clip": 0.1, "delta": 1e-5, "seeded": True}
RULES = {
    "mean": {},
    "median": {"transforms": [{"name": "median"}]},
    "krum": {"transforms": [{"name": "krum", "attackers": 1}]},
    "norm_bound": {"transforms": [{"name": "norm_bound", "bound": 0.01}]},
    "momentum": {"server": {"optimizer": "momentum"}},
    "noise": {"privacy": PRIVACY},
}


@pytest.mark.rotating
@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("rule", RULES)
def test_the_order_in_which_a_client_sends_its_entries_changes_nothing(rule, where, tmp_path):
    how = {"aside": tmp_path if where == "disk" else None, "model": {"name": "dnn"}, **RULES[rule]}
    assert after_two_rounds("fedavg", True, **how) == after_two_rounds("fedavg", False, **how)


def test_a_message_has_the_nodes_that_were_expected_whatever_its_sender_made_of_them():
    info = federation("fedavg").federation.infos[0]
    expected = {"parameters": ({"w": torch.zeros(2), "v": torch.zeros(2)}, torch.zeros(1))}
    sent = {"parameters": {"1": torch.ones(1), "0/v": torch.ones(2), "0": {"w": torch.ones(2)}}}
    answer = TaskResult(0, encode(sent), float(info.samples))
    found = accepted(fedavg(lr=0.1), info, answer, expected).reply.message
    assert isinstance(found["parameters"], tuple)
    assert [path for path, _ in named_leaves(found)] == [path for path, _ in named_leaves(expected)]
