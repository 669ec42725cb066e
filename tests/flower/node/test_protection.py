"""Nothing leaves a node without the noise or the masks of its experiment, whatever its server
says.
"""

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.engine.codec import decode, encode
from fedkin.engine.op import SCORE_STAGES
from fedkin.flower.envelope import RemoteStep
from fedkin.masks.wire import MAGIC
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from tests.engine.small import content
from tests.flower.node.host_examples import ask, made, request

MASKS = {"secure_aggregation": True}
NOISE = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "where": "client"}
SAMPLES = {"noise": 1.0, "clip": 1.0, "delta": 1e-5, "unit": "sample"}
RUNS = {"run__clients": 4, "run__participation": 1.0, "run__rounds": 3}
LAST = RemoteStep(op="evaluate_all", round=4)
WORK, INTRODUCTION = RemoteStep(op="local", round=1), RemoteStep(op="introduce", round=0)


def asked(folder, method, step, privacy, transforms=()):
    """What a node sends, and why not: its server has looked at nothing."""
    spec = parse({**content(method, **RUNS), "privacy": privacy, "transforms": list(transforms)})[0]
    plain = assemble(parse(content(method, **RUNS))[0])
    sent = encode(plain.method.broadcast(plain.method.server(plain.federation.start), 1))
    node = made(folder, spec, insecure=True)
    sent = [] if step is INTRODUCTION else [sent]
    reply, answers = ask(node, request(spec, steps=(step,)), *sent)
    return spec, reply, answers, node


@pytest.mark.parametrize(
    ("method", "step", "privacy", "transforms", "why"),
    [
        ("cgpfl", WORK, MASKS, [], "cgpfl needs every message by itself"),
        ("ifca", WORK, MASKS, [], "ifca needs a sum for each group of clients"),
        ("ppfl", INTRODUCTION, MASKS, [], "clients of ppfl introduce themselves before the first"),
        (
            "fedavg",
            WORK,
            MASKS,
            [{"name": "bfloat16"}],
            "bfloat16 sends only some of them",
        ),
        ("ppfl", INTRODUCTION, NOISE, [], "before the first round, which no noise covers"),
        ("cgpfl", WORK, NOISE, [], "cgpfl needs every message by itself"),
        ("ifca", WORK, SAMPLES, [], "ifca"),
    ],
)
def test_a_node_refuses_what_its_server_should_have(
    method, step, privacy, transforms, why, tmp_path
):
    spec, reply, answers, node = asked(tmp_path, method, step, privacy, transforms)
    with pytest.raises(FedkinError, match=why):
        assemble(spec)
    assert why in (reply.error or reply.steps[0].error)
    assert answers == []
    assert not (node.state / "spent").exists()


@pytest.mark.parametrize("method", ["fedavg", "ditto"])
@pytest.mark.parametrize("privacy", [MASKS, NOISE, {**NOISE, **MASKS}])
def test_what_is_covered_leaves(method, privacy, tmp_path):
    _, reply, answers, _ = asked(tmp_path, method, WORK, privacy)
    assert (reply.error, reply.steps[0].error) == (None, None)
    (answer,) = answers
    assert answer.startswith(MAGIC) == (privacy is not NOISE)
    if privacy is NOISE:
        assert set(decode(answer)) == {"parameters"}


@pytest.mark.parametrize("round", [1, 4])
@pytest.mark.parametrize(
    ("privacy", "splits"),
    [
        (NOISE, {"val", "test"}),
        (SAMPLES, {"val", "test"}),
        ({**NOISE, "where": "server"}, {"train", "val", "test"}),  # which trusts the server
    ],
    ids=["client", "sample", "server"],
)
def test_no_score_of_training_samples_leaves_a_node_that_adds_the_noise(
    privacy, splits, round, tmp_path
):
    step = RemoteStep(op="evaluate_all", round=round)
    _, reply, answers, _ = asked(tmp_path, "ditto", step, privacy)
    (done,) = reply.steps
    assert (reply.error, done.error, answers) == (None, None, [])
    assert set(done.scores) == {"personal", "global"}
    for scores in (done.scores, done.measures):
        assert all(set(by_split) <= splits for by_split in scores.values())
    assert all(set(by_split) == splits for by_split in done.scores.values())


@pytest.mark.rotating
@pytest.mark.parametrize("noise", [{**NOISE, "where": "distributed"}, NOISE, SAMPLES, {}])
def test_under_masks_a_training_score_is_not_even_counted(noise, tmp_path):
    _, reply, _, node = asked(tmp_path, "fedavg", LAST, {**MASKS, **noise})
    assert (reply.error, reply.steps[0].error, reply.steps[0].scores) == (None, None, {})
    waiting = node._host[2].masking.waiting(1, SCORE_STAGES[-1])
    assert set(waiting.record.scores["personal"]) == {"val", "test", *([] if noise else ["train"])}


def test_a_method_that_fails_on_sealed_samples_quotes_nothing(tmp_path, monkeypatch, capfd):
    def fails(*_):
        raise ValueError("target -71.3125 is out of bounds")

    monkeypatch.setattr("fedkin.transforms.protected.per_sample._dry_rounds", fails)
    spec = parse({**content("fedavg", **RUNS), "privacy": SAMPLES})[0]
    reply, answers = ask(made(tmp_path, spec, insecure=True), request(spec), encode({}))
    assert reply.error.startswith(
        "privacy.unit = 'sample' does not fit the method: its work failed"
    )
    assert "ValueError, of which its log says more" in reply.error
    assert "71" not in reply.error
    assert answers == []
    assert "target -71.3125" in capfd.readouterr().err
