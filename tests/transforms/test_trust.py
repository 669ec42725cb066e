"""FLTrust, against its formula, and in whole runs with attackers."""

import math
from dataclasses import replace

import pytest
import torch

from fedkin.core.aggregation import Contributions, Reply
from fedkin.core.errors import FedkinError
from fedkin.core.tree import flat, sub
from fedkin.experiment.run import run
from fedkin.report.summary import summary
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.trust import by_trust
from tests.engine.small import content

SENT = {"parameters": {"w": torch.tensor([1.0, 2.0, -1.0])}}


def replies(*updates):
    return {
        k: Reply({"parameters": {"w": SENT["parameters"]["w"] + torch.tensor(u)}}, 50.0)
        for k, u in enumerate(updates, start=2)
    }


def taken(own, *updates):
    given = Contributions(replies(*updates), lambda client: SENT, ())
    found = by_trust(given, {"w": SENT["parameters"]["w"] + torch.tensor(own)})
    return (found.value["parameters"]["w"] - SENT["parameters"]["w"]).tolist(), found.reported[
        "kept"
    ]


@pytest.mark.certifies("trust", "closed form")
def test_updates_count_by_their_cosine_and_have_the_servers_length():
    """Cosines 1, 1/√2 and −1 to (0, 2, 0): the second is (√2, √2, 0) once it has length 2."""
    update, kept = taken([0.0, 2.0, 0.0], [0.0, 5.0, 0.0], [9.0, 9.0, 0.0], [0.0, -9.0, 0.0])
    share = 1 / math.sqrt(2)
    whole = 1 + share
    expected = [share * math.sqrt(2) / whole, (2 + share * math.sqrt(2)) / whole, 0.0]
    assert update == pytest.approx(expected, rel=1e-5)
    assert kept == {2: 1.0, 3: pytest.approx(share), 4: 0.0}


@pytest.mark.certifies("trust", "closed form")
def test_where_nobody_is_trusted_nothing_moves():
    update, kept = taken([0.0, 2.0, 0.0], [0.0, -1.0, 0.0], [math.inf, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert update == [0.0, 0.0, 0.0]
    assert set(kept.values()) == {0.0}
    assert taken([0.0, 0.0, 0.0], [0.0, 1.0, 0.0])[0] == [0.0, 0.0, 0.0]


def spec(method="fedavg", attacked=True, trust=None, **settings):
    given = content(method, run__rounds=8, run__participation=1.0, **settings)
    attack = [{"name": "attack", "kind": "sign_flip", "strength": 6.0, "share": 0.34}]
    listed = [*(attack if attacked else []), *([{"name": "trust", **trust}] if trust else [])]
    public = {"source": "held-out", "samples": 100, "labeled": True}
    return parse({**given, "public": public, "transforms": listed})[0]


def test_the_servers_own_training_follows_the_schedule():
    """One step of SGD is as long as its rate, and what is trusted is as long as that step."""
    parts = assemble(spec(attacked=False, trust={"lr": 0.1, "steps": 1}))
    made, tools = parts.method, parts.federation.tools
    state = made.server(parts.federation.start)
    w = made.broadcast(state, 0)["parameters"]
    up, down = ({name: v + sign for name, v in w.items()} for sign in (1.0, -1.0))
    sent = {k: Reply({"parameters": one}, 1.0) for k, one in enumerate((up, down))}

    def moved(decay):
        """The round, and so the rows of the public set, are the same; one of two is trusted."""
        schedule = tools.schedule._replace(milestones=(1,), milestone_factor=decay)
        after = made.server_update(
            state, sent, replace(tools, key=tools.key._replace(round=2), schedule=schedule)
        )
        return float(flat(sub(made.broadcast(after, 0)["parameters"], w)).norm())

    assert moved(1.0) > 1e-3
    assert moved(0.5) == pytest.approx(moved(1.0) / 2, rel=1e-4)


def test_attackers_are_not_trusted(tmp_path):
    trust = {"lr": 0.05, "steps": 8}
    found = summary(run(spec(trust=trust), tmp_path / "trust"))
    plain = summary(run(spec(), tmp_path / "plain"))
    attackers = {one for one, value in found["extras"]["attacker"].items() if value == 1}
    kept = found["extras"]["kept"]
    assert {one for one, value in kept.items() if value == 0} == attackers
    assert max(kept.values()) == 1
    better = found["honest"]["views"]["global"] - plain["honest"]["views"]["global"]
    assert better > 0.1


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [
        ("fedper", {}, "transform trust trains one whole model at the server"),
        ("cgpfl", {}, "transform trust works on a declared sum of updates"),
        ("fedem", {}, "clients of fedem send parts of one, or several: try fedavg"),
        ("feddyn", {}, "the server of feddyn computes with the mean as such.*: try fedavg"),
        ("fedavg", {"public__labeled": False}, "label"),
        ("fedavg", {"trust": {"lr": 0.0}}, "transform trust: lr: "),
        ("fedavg", {"trust": {}}, "transform trust needs lr"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(method, settings, sentence):
    given = spec(method, attacked=False, trust={"lr": 0.1}).model_dump(exclude_none=True)
    labeled = settings.get("public__labeled", True)
    given["public"] = {**given["public"], "labeled": labeled}
    asked = settings.get("trust", {"lr": 0.1})
    given["transforms"] = [{"name": "trust", **asked}]
    with pytest.raises(FedkinError, match=sentence):
        assemble(parse(given)[0])
