"""What [[transforms]] and [privacy] ask of clients is done by nodes: the bits of one process."""

import stat

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.runs.spec import Spec, parse
from tests.engine.small import content
from tests.flower.cluster import result
from tests.flower.fleet import Fleet
from tests.flower.node.test_host import ask, down, made, request
from tests.flower.test_masks import unsigned

RUNS = {"run__clients": 4, "run__participation": 1.0, "run__rounds": 3, "run__commit_every": 0}
NOISE = {"noise": 0.6, "clip": 0.5, "delta": 1e-5}


def experiment(method: str = "fedavg", privacy=None, transforms=()) -> Spec:
    given = content(method, **{**RUNS, "engine__name": "inprocess", "run__sampling": "uniform"})
    return parse({**given, "privacy": privacy or {}, "transforms": list(transforms)})[0]


CASES = {
    "top_k": experiment(transforms=[{"name": "top_k", "share": 0.1}]),
    "quantize": experiment("ditto", transforms=[{"name": "quantize", "bits": 4}]),
    "client": experiment("ditto", {**NOISE, "where": "client", "seeded": True}),
    "predictions": experiment("comet", {**NOISE, "where": "client", "seeded": True}),
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
    signed = case == "distributed"
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


def test_samples_are_protected_in_simulations_only(tmp_path):
    with pytest.raises(FedkinError, match="nodes do not clip each sample yet"):
        Fleet(tmp_path, experiment(privacy={**NOISE, "unit": "sample"}))
