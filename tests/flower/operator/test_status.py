"""How a deployment is, as Flower's programs, played by the test, and the run directory tell."""

import json
import shutil

import pytest

pytest.importorskip("flwr")

from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from fedkin.cli import deploy
from fedkin.experiment.run import run
from fedkin.flower.config import SUBMITTED, ended_of, waiting_of
from fedkin.flower.operator.site import add, init
from fedkin.flower.waiting import Waiting
from fedkin.runs.database import create
from fedkin.runs.directory import RECORD
from tests.cli.json_outputs import as_written, states
from tests.engine.small import small
from website.json_page import schemas
from website.json_schema import of

SPEC = small("fedavg", run__clients=4, run__participation=1.0, run__rounds=2)
NAMES = ("a", "b", "c", "d")


def said(**content):
    return 0, json.dumps({"success": True, **content}), ""


def listed(*known):
    return said(nodes=[{"node-id": str(k), "status": state} for k, state in enumerate(known)])


def told(folder, *options):
    done = CliRunner().invoke(deploy.app, ["status", str(folder), *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_who_is_connected_and_how_far_the_last_run_is(tmp_path, programs):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    add(folder, "late")
    for number, name in enumerate(NAMES):
        (folder / "keys" / f"{name}.node").write_text(f"{number}\n")
    programs.answers = [listed("online", "offline", "online", "unregistered")]
    lines = told(folder).splitlines()
    assert lines[1:] == [
        "nodes      2 connected: a, c",
        "nodes      1 not connected: b",
        "nodes      1 its key was revoked: d",
        "nodes      1 not registered: late",
        "run        none yet",
    ]
    (folder / SUBMITTED).write_text(json.dumps({"run": "1", "flower": "12"}))
    Waiting(waiting_of(folder, "12"), 4).tell(["b"])
    for status, shown in (("running", "going on"), ("finished:failed", "stopped")):
        programs.answers = [listed("online"), said(runs=[{"status": status}])]
        waits = ", waiting for b (1 of 4 nodes)" if status == "running" else ""
        line = told(folder).splitlines()[-1]
        assert line == f"run 1      {shown}, round 0 of 2 committed{waits}"
    Waiting(waiting_of(folder, "12"), 4).go_on(["b"])
    programs.answers = [listed("online"), said(runs=[{"status": "running"}])]
    assert told(folder).splitlines()[-1] == "run 1      going on, round 0 of 2 committed"
    run(SPEC, folder / "runs" / "1")
    ended_of(folder, "12").write_text("{}")
    programs.answers = [listed("online")]
    assert told(folder).splitlines()[-1] == "run 1      finished, round 2 of 2 committed"
    assert {command[1] for command in programs.asked} == {"supernode", "ls"}  # nothing is started


def test_the_rounds_are_those_of_the_run_and_not_of_the_experiment_of_the_next_one(
    tmp_path, programs
):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    (folder / SUBMITTED).write_text(json.dumps({"run": "1", "flower": "12"}))
    (folder / "experiment.toml").write_text("rounds = [")
    programs.answers = [listed("online"), said(runs=[{"status": "running"}])] * 2
    assert told(folder).splitlines()[-1] == "run 1      going on, round 0 committed"
    (folder / "runs" / "1").mkdir(parents=True)
    create(folder / "runs" / "1" / RECORD, {"rounds": 7}).close()
    assert told(folder).splitlines()[-1] == "run 1      going on, round 0 of 7 committed"


def test_without_keys_nobody_knows_which_node_it_is(tmp_path, programs):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    programs.answers = [listed("online", "offline")]
    assert "nodes      1 connected: node 0" in told(folder)
    programs.answers = [listed("offline")]
    assert told(folder).splitlines()[1:] == ["nodes      none connected", "run        none yet"]


def test_what_all_runs_with_noise_cost_together(tmp_path, programs):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    programs.answers = [listed("online")]
    assert "privacy" not in told(folder)
    noise = {"delta": 1e-5, "noise": 2.0, "rounds": 3}
    for name, facts in (
        ("1", {"privacy": {**noise, "epsilon": 2.5}}),
        ("2", {}),  # without noise
        ("10", {"privacy": {**noise, "epsilon": 1.25}}),
        ("11", {"privacy": {**noise, "epsilon": 1.25, "seeded": True}}),
    ):
        (folder / "runs" / name).mkdir(parents=True)
        create(folder / "runs" / name / RECORD, facts).close()
    programs.answers = [listed("online")]
    assert told(folder).splitlines()[-1] == (
        "privacy    3 runs with noise: epsilon = 2.5 (run 1), 1.25 (run 10), together 3.75 at "
        "delta = 2e-05 by basic composition; of unknown epsilon noise 2.0, 3 rounds (run 11), so "
        "that nobody knows the sum of all"
    )
    shutil.rmtree(folder / "runs" / "11")
    programs.answers = [listed("online")]
    assert told(folder).endswith(
        "2 runs with noise: epsilon = 2.5 (run 1), 1.25 (run 10), together 3.75 at delta = 2e-05 "
        "by basic composition\n"
    )


def test_its_json_is_what_its_schema_says(tmp_path):
    printed, schema = list(states(tmp_path)), schemas()["deploy status"]
    for found in printed:
        assert not list(Draft202012Validator(schema).iter_errors(found))
    assert as_written(of(printed)) == as_written(schema)
