"""A node that comes while a federation is at work joins it, and the run does not notice."""

import json
import subprocess

import pytest

from fedkin.experiment.run import run
from fedkin.flower.operator.command_line import program
from fedkin.setup.build import assemble
from tests.flower.cluster import (
    FEDKIN,
    Cluster,
    cluster,
    environment,
    experiment,
    free_ports,
    result,
    wait_for,
)
from tests.flower.reference import write_rows


def deploy(*arguments: object) -> str:
    """``fedkin deploy …``, which succeeds."""
    command = [*FEDKIN, "deploy", *map(str, arguments)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_node_joins_a_run_that_goes_on(tmp_path):
    spec = experiment("cgpfl", run__rounds=4, run__clients=2)
    with cluster(spec, names=("c0", "c1")) as running:
        process = running.begin()
        wait_for(lambda: running.round() >= 1, 600, running)
        assert "it is registered" in deploy("add", running.folder, "late")
        own = assemble(experiment("fedavg", run__clients=3)).population
        write_rows(running.node("late") / "data.npz", own, 2)
        running.configure_node("late", port=free_ports(1)[0])
        running.start("late", [*FEDKIN, "deploy", "node", str(running.node("late"))])
        found = json.loads(deploy("join", running.folder, "late", "--rounds", 1, "--json"))
        assert (found["rounds"], found["places"], found["place"]) == (
            1,
            2,
            found["notes"]["cluster"],
        )
        assert found["after_round"] >= 1
        assert running.commits("late")
        assert process.wait(900) == 0, running.log("run")
        assert not running.missing()
        assert result(running.last()) == result(run(spec, tmp_path / "plain"))
        revoke(running, "late")


def revoke(running: Cluster, name: str) -> None:
    """As docs/deploy.md says: the node is cut off, and its key is never taken again."""
    number = (running.folder / "keys" / f"{name}.node").read_text().strip()
    assert f"SuperNode ID: {number}" in running.log(name)
    home = {"FLWR_HOME": str(running.folder / "flower"), "FLWR_TELEMETRY_ENABLED": "0"}

    def flwr(*words: str) -> str:
        command = [program("flwr"), "supernode", *words]
        told = {**environment(), **home}
        return subprocess.run(
            command, env=told, capture_output=True, text=True, timeout=120, check=False
        ).stdout

    assert "unregistered successfully" in flwr("unregister", number, "deployment")
    wait_for(lambda: "Failed to activate SuperNode" in running.log(name), 120, running)
    key = running.folder / "keys" / f"{name}.pub"
    assert "already in use" in flwr("register", str(key), "deployment", "--format", "json")
