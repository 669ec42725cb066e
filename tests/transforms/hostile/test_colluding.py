"""Attackers that agree on their predictions: what they send, and what it does to clusters."""

import pytest
import torch

from fedkin.core.clustering import kmeans
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.engine.codec import decode
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.run import run
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.attacks import attackers
from fedkin.transforms.hostile.colluding import agreed
from fedkin.transforms.setting import Setting
from tests.engine.small import content


def asked(method="comet", **parameters):
    entry = {"name": "attack", "kind": "collude", "share": 0.34, **parameters}
    return parse({**content(method, run__rounds=2, run__participation=1.0), "transforms": [entry]})[
        0
    ]


def test_the_answer_is_one_class_a_row_the_same_for_all_attackers_of_a_seed():
    like = torch.full((50, 4), 0.25)
    answer = agreed(like, 3)
    assert answer.sum(1).tolist() == [1.0] * 50
    assert set(answer.flatten().tolist()) == {0.0, 1.0}
    assert torch.equal(answer, agreed(torch.rand(50, 4), 3))
    assert not torch.equal(answer, agreed(like, 4))
    assert len(set(answer.argmax(1).tolist())) == 4


@pytest.mark.parametrize("strength", [1.0, 0.25])
def test_attackers_send_it_and_the_others_their_own(strength, tmp_path, monkeypatch):
    sent = {}
    ask = InProcess.ask

    def listening(self, op, round, orders):
        for answer in ask(self, op, round, orders):
            if op == "local" and round == 1:
                sent[answer.client] = decode(answer.message)["predictions"]
            yield answer

    monkeypatch.setattr(InProcess, "ask", listening)
    run(parse(content("comet", run__rounds=2, run__participation=1.0))[0], tmp_path / "plain")
    plain = dict(sent)
    spec = asked(strength=strength)
    run(spec, tmp_path / "attacked")
    hostile = attackers(Setting(6, 6, 1.0, spec.run.seed), 0.34)
    assert len(hostile) == 2
    answer = agreed(plain[0], spec.run.seed)
    for client in hostile:
        apart = sent[client] - strength * answer
        assert float(apart.sum(1).sub(1 - strength).abs().max()) < 1e-6  # its own has the rest
        assert bool((apart > -1e-7).all())
    if strength == 1.0:
        found = kmeans(torch.stack([sent[k] for k in sorted(sent)]), 2, Key(0), 5)
        own = {int(found.labels[k]) for k in hostile}
        others = {int(found.labels[k]) for k in sent if k not in hostile}
        assert len(own) == 1
        assert not own & others  # they have a cluster for themselves


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            asked("fedavg"),
            "clients of fedavg send no predictions: try kind = 'sign_flip', or comet",
        ),
        (asked(strength=1.5), "strength of collude is a share, at most 1, not 1.5"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(spec, sentence):
    with pytest.raises(FedkinError, match=sentence):
        assemble(spec)
