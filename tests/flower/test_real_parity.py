"""Same seed, same bits: four SuperNodes on loopback, TLS and authentication on, against one
process.
"""

import shutil

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.operator import keys
from fedkin.setup.loaded_run import load
from tests.flower.cluster import FEDKIN, NAMES, free_ports, wait_for
from tests.flower.reference import same_bits


# two rounds are for every change; every round starts a process of each node anew
@pytest.mark.parametrize(("method", "rounds"), [("fedavg", 2), ("fedavg", 5), ("comet", 5)])
def test_a_deployment_gives_the_bits_of_one_process(method, rounds, running, tmp_path):
    same_bits(method, running, tmp_path, rounds)


def test_a_deployed_run_shows_its_numbers_but_not_its_models(running):
    from fedkin.report.page.report import write_report
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
        assert all(
            path.stat().st_mode & 0o077 == 0 for path in [*commits, running.node(name) / "node.key"]
        )


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
    running.configure(wait=600.0)
