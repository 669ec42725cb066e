"""Votes on a public set with noise, against counts by hand."""

import math
from dataclasses import replace

import pytest
import torch

from fedkin.core.aggregation import Reply, RuleContext, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret, seeded
from fedkin.core.tree import leaves
from fedkin.experiment.run import run
from fedkin.report.summary import summary
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.method_transforms import with_secret
from fedkin.transforms.protected import votes as module
from fedkin.transforms.protected.votes import votes, winners
from tests.engine.small import content

SECRET = Secret(bytes(range(32)))
PRIVACY = {"noise": 0.4, "clip": 1.0, "delta": 1e-5, "seeded": True}
METHODS = ("comet", "ds_fl", "kt_pfl")


def spec(method):
    given = content(method, run__participation=1.0, run__sampling="uniform")
    return parse({**given, "privacy": PRIVACY})[0]


def test_a_client_has_one_vote_a_row_and_none_where_it_says_no_number():
    told = torch.tensor([[0.2, 0.5, 0.3], [9.0, -1.0, 8.0], [math.nan, 1.0, 0.0]])
    assert votes(told).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    with pytest.raises(FedkinError, match="vote for classes, and these predictions are numbers"):
        votes(torch.zeros(4, 1))


@pytest.mark.certifies("votes", "closed form")
def test_the_class_with_most_votes_wins_whatever_a_client_is_sure_of():
    said = [torch.tensor([[0.4, 0.6]]), torch.tensor([[0.49, 0.51]]), torch.tensor([[1.0, 0.0]])]
    assert winners(said, said[0], 1e-9, SECRET, 1).tolist() == [[0.0, 1.0]]


@pytest.mark.certifies("votes", "closed form")
def test_noise_grows_with_the_norm_of_a_clients_votes():
    """Nobody votes: the highest of two noises wins; 3 σ √rows of votes for one win 0.983 of rows
    (its margin is normal with deviation √2 σ √rows).
    """
    rows = 40_000
    like = torch.zeros(rows, 2)
    nobody = winners([], like, 2.0, SECRET, 1)
    assert float(nobody[:, 0].mean()) == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(rows))
    noise = 10 / (3 * math.sqrt(rows))  # 10 votes are 3 deviations of one count's noise
    first = torch.tensor([[1.0, 0.0]]).expand(rows, 2)
    won = float(winners([first] * 10, like, noise, SECRET, 1)[:, 0].mean())
    expected = 0.5 * (1 + math.erf(3 / 2))
    assert won == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / rows))
    again = winners([first] * 10, like, noise, SECRET, 1)
    assert float(again[:, 0].mean()) == won
    assert not torch.equal(again, winners([first] * 10, like, noise, SECRET, 2))


@pytest.mark.certifies("votes", "law")
@pytest.mark.parametrize("method", METHODS)
def test_a_server_keeps_nothing_but_winners(method):
    """Two sets of replies with the same votes leave the same state, whoever sent them."""
    parts = assemble(spec(method))
    federation, made = with_secret(parts.federation, seeded(3)), parts.method
    state = made.server(federation.start)
    received = made.broadcast(state, 0)
    like = made.expected_update(received, parts.infos[0])["predictions"]
    rng = torch.Generator().manual_seed(2)
    sure = torch.softmax(torch.randn(like.shape, generator=rng, dtype=like.dtype), 1)
    vague = torch.softmax(0.1 * sure.log(), 1)
    tools = federation.tools

    def after(who, told, weight):
        replies = {k: Reply({"predictions": told}, weight) for k in who}
        around = RuleContext(lambda client: received, tools.key.round, tools.secret)
        sent = aggregated(made.aggregation, replies, lambda: around)
        return made.server_update(state, sent, tools)

    ended = [after((0, 1, 2), sure, 5.0), after((2, 4, 5), vague, 1.0)]
    for one, other in zip(leaves(ended[0]), leaves(ended[1]), strict=True):
        assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))
    changed = after(range(6), sure.flip(1), 1.0)
    assert any(
        not torch.equal(torch.as_tensor(one), torch.as_tensor(other))
        for one, other in zip(leaves(ended[0]), leaves(changed), strict=True)
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_server_noises_votes_anew_in_every_round(method, monkeypatch):
    """Where nobody votes, the winners are the noise."""
    found = []

    def noting(*given):
        found.append(winners(*given))
        return found[-1]

    monkeypatch.setattr(module, "winners", noting)
    parts = assemble(spec(method))
    federation, made = with_secret(parts.federation, seeded(3)), parts.method
    state = made.server(federation.start)
    received = made.broadcast(state, 0)
    for round in (1, 2):
        tools = replace(federation.tools, key=federation.tools.key._replace(round=round))
        around = RuleContext(lambda client: received, round, tools.secret)
        told = aggregated(made.aggregation, {}, lambda around=around: around)
        made.server_update(state, told, tools)
    assert len(found) == 2
    assert len(found[0]) >= 40  # of two classes, so many coins fall alike once in 2^40
    assert not torch.equal(*found)


@pytest.mark.rotating
@pytest.mark.parametrize("method", METHODS)
def test_whole_runs_vote(method, tmp_path):
    found = summary(run(spec(method), tmp_path / "run"))
    assert found["privacy"]["where"] == "server"
    assert found["privacy"]["epsilon"] > 0
