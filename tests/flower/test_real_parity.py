"""Same seed, same bits: four SuperNodes on loopback, TLS and authentication on, against one process."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from fedkin.assemble import assemble
from fedkin.core.errors import FedkinError
from fedkin.experiment import load, run
from fedkin.flower import keys
from tests.flower.cluster import FEDKIN, NAMES, Cluster, cluster, experiment, free_ports, result, wait_for

OFTEN, CASES = ("fedavg", "comet"), ("fedavg", "comet", "fedem", "cgpfl", "ppfl", "ditto")


@pytest.fixture(scope="module")
def running():
    with cluster(experiment(CASES[0])) as started:
        yield started


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in CASES]
)
def test_five_rounds_give_the_bits_of_one_process(method, running, tmp_path):
    running.train(experiment(method))
    deployed = result(running.run())
    assert deployed == result(run(experiment(method), tmp_path / "plain"))
    assert not deployed["events"]


def test_a_deployed_run_shows_its_numbers_but_not_its_models(running):
    from fedkin.report.html import write_report
    from fedkin.report.summary import summary

    assert summary(running.last())["accuracy"]
    assert write_report(running.last()).stat().st_size > 10_000
    with pytest.raises(FedkinError, match="never left their nodes"):
        load(running.last())


def test_what_others_may_not_read(running):
    for name in NAMES:
        state = running.node(name) / "state"
        assert state.stat().st_mode & 0o077 == 0
        commits = list(state.glob("*/*.commit"))
        assert commits
        assert all(path.stat().st_mode & 0o077 == 0 for path in [*commits, running.node(name) / "node.key"])


def own_files(started: Cluster, folder: Path, spec) -> None:
    """Every client's rows of the experiment's data as a file of its node."""
    population = assemble(spec).population
    for client, name in enumerate(started.names):
        arrays = {}
        for part in ("train", "val", "test"):
            x, y = population.part(client, part)
            arrays |= {f"x_{part}": x.numpy(), f"y_{part}": y.numpy()}
        np.savez(started.node(name) / "data.npz", **arrays)


@pytest.mark.slow
def test_nodes_with_files_of_their_own_give_the_same_bits(tmp_path):
    public = tmp_path / "public.npz"
    digits = assemble(experiment("fedavg")).population
    np.savez(public, x=digits.x[::7].numpy(), y=digits.y[::7].numpy())
    spec = experiment("comet", public__source=str(public), public__samples=60, run__rounds=2, run__clients=2)
    started = Cluster(spec, NAMES[:2], own_data=True)
    try:
        own_files(started, tmp_path, spec)
        started.up()
        assert result(started.run()) == result(run(spec, tmp_path / "plain"))
        with_names = (started.last() / "nodes.json").read_text()
        assert all(name in with_names for name in started.names)
    finally:
        started.close()


def test_strangers_and_other_experiments_are_refused(running):
    stranger = running.node("c0").with_name("stranger")
    shutil.copytree(running.node("c0"), stranger, ignore=shutil.ignore_patterns("state"))
    (stranger / "node.key").unlink()
    keys.node_key(stranger / "node.key", running.home / "stranger.pub")
    (port,) = free_ports(1)
    running.configure_node("stranger", port=port)
    running.start("stranger", [*FEDKIN, "deploy", "node", str(stranger)])
    wait_for(lambda: "supernode ended with code" in running.log("stranger"), 120, running)
    assert "No SuperNode found with the given public key" in running.log("superlink")
    assert not list(stranger.glob("state/*/*.commit"))
    running.processes["stranger"].terminate()
    # the server wants another experiment than the nodes were given
    (running.folder / "experiment.toml").write_text(
        (running.folder / "experiment.toml").read_text().replace("seed = 3", "seed = 4")
    )
    running.configure(wait=1.0)
    process = running.begin()
    assert process.wait(300) == 2
    assert "this node's experiment is" in running.log("run")
