"""What [[transforms]] and [privacy] ask of clients is done by nodes: the bits of one process."""

import stat

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.flower.config import spec_of
from fedkin.runs.spec import Spec, parse
from tests.engine.small import content
from tests.flower.cluster import result
from tests.flower.fleet import Fleet
from tests.flower.node.test_host import ask, down, made, request
from tests.flower.test_masks import unsigned

RUNS = {"run__clients": 4, "run__participation": 1.0, "run__rounds": 3, "run__commit_every": 0}
NOISE = {"noise": 0.6, "clip": 0.5, "delta": 1e-5}
SAMPLES = {**NOISE, "unit": "sample", "seeded": True}


def experiment(method: str = "fedavg", privacy=None, transforms=()) -> Spec:
    given = content(method, **{**RUNS, "engine__name": "inprocess", "run__sampling": "uniform"})
    return parse({**given, "privacy": privacy or {}, "transforms": list(transforms)})[0]


CASES = {
    "top_k": experiment(transforms=[{"name": "top_k", "share": 0.1}]),
    "quantize": experiment("ditto", transforms=[{"name": "quantize", "bits": 4}]),
    "client": experiment("ditto", {**NOISE, "where": "client", "seeded": True}),
    "predictions": experiment("comet", {**NOISE, "where": "client", "seeded": True}),
    "samples": experiment("ditto", SAMPLES),
    "samples, masks": experiment("fedavg", {**SAMPLES, "secure_aggregation": {"threshold": 3}}),
    "distributed": experiment(
        "fedavg",
        {**NOISE, "where": "distributed", "seeded": True, "secure_aggregation": {"threshold": 3}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_deployment_gives_the_bits_of_one_process(case, tmp_path):
    deployed = result(Fleet(tmp_path, CASES[case]).run())
    assert not deployed["events"]
    one = result(run(CASES[case], tmp_path / "one"))
    signed = "secure_aggregation" in CASES[case].privacy.model_fields_set
    assert (unsigned(deployed) == unsigned(one)) if signed else (deployed == one)


def test_a_node_has_a_secret_of_its_own_and_another_noise_in_each_run(tmp_path):
    spec = experiment(privacy={**NOISE, "where": "client"})
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    first, second = (made(folder, spec) for folder in folders)
    sent = [ask(node, request(spec), down(spec))[1][0] for node in (first, first, second)]
    assert sent[0] == sent[1]  # asked again: the same noise
    assert sent[0] != sent[2]
    other = ask(first, request(spec, run="fedcba9876543210"), down(spec))[1][0]
    assert other != sent[0]
    path = first.state / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_bytes()) == 32


def test_a_secret_that_is_gone_or_read_by_others_ends_the_nodes_work(tmp_path):
    spec = experiment(privacy={**NOISE, "where": "client"})
    node = made(tmp_path, spec)
    ask(node, request(spec), down(spec))
    path = node.state / "secret"
    path.chmod(0o644)
    assert "can be read by others" in ask(node, request(spec), down(spec))[0].error
    path.unlink()
    assert "is gone: without it" in ask(node, request(spec), down(spec))[0].error


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"noise": {"epsilon": 8, "delta": 1e-5}, "delta": None}, "give nodes the multiplier"),
        ({"budget": 8.0}, "leave it out, and set run.rounds"),
    ],
)
def test_what_a_node_cannot_know_is_refused(changes, why, tmp_path):
    given = {k: v for k, v in {**SAMPLES, **changes}.items() if v is not None}
    with pytest.raises(FedkinError, match=why):
        Fleet(tmp_path, experiment(privacy=given))


def test_a_target_is_a_multiplier_when_nodes_get_it(tmp_path):
    """A node that was given a target would add no noise."""
    target = {"noise": {"epsilon": 8, "delta": 1e-5}, "clip": 0.5, "where": "client"}
    fleet = Fleet(tmp_path, experiment(privacy=target))
    noise = spec_of(fleet.folder / "nodes" / "c1").privacy.noise
    assert isinstance(noise, float)
    assert noise > 0.5
    by_hand = made(tmp_path, experiment(privacy=target))
    reply, sent = ask(by_hand, request(experiment(privacy=target)), down(experiment()))
    assert not sent
    assert "nodes take a multiplier" in reply.error


def test_a_nodes_samples_are_noised_by_its_own_secret(tmp_path):
    """Two nodes with the same rows send different numbers, and each the same when asked again."""
    spec = experiment(privacy={**SAMPLES, "seeded": False})
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    first, second = (made(folder, spec) for folder in folders)
    sent = [ask(node, request(spec), down(spec))[1][0] for node in (first, first, second)]
    assert sent[0] == sent[1]
    assert sent[0] != sent[2]


def test_a_method_whose_messages_no_noise_covers_is_refused_by_the_node_too(tmp_path):
    spec = experiment("fedem", privacy=SAMPLES)
    node = made(tmp_path, spec)
    reply, sent = ask(node, request(spec), down(experiment("fedem")))
    assert not sent
    assert "privacy.unit = 'sample' does not fit fedem" in reply.error
