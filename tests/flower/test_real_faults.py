"""Faults of real nodes: they are recorded, nothing wrong is merged, and what is left goes on."""

import json
import re
import sys

from tests.flower.cluster import NAMES, Cluster, experiment, kill, result, wait_for, with_text
from tests.flower.reference import faulty
from tests.flower.rogue import PLAN

DEADLINE = 120.0


def rogue(running: Cluster, name: str, plan: dict[str, str]) -> None:
    """Replace a node's host by one that follows a plan, before the cluster is up."""
    (running.node(name) / PLAN).write_text(json.dumps(plan))
    running.start(name, [sys.executable, "-m", "tests.flower.rogue", str(running.node(name))])


def with_rogues(spec, plans: dict[str, dict[str, str]], **options) -> Cluster:
    made = Cluster(spec, **options)
    made.start("superlink")
    for name in made.names:
        if name in plans:
            rogue(made, name, plans[name])
        else:
            made.start(name)
    wait_for(lambda: "all nodes are registered" in made.log("superlink"), 180, made)
    return made


def test_bad_replies_are_recorded_and_never_merged(tmp_path):
    acts = {  # (round, client): what its node does, and what is recorded
        (2, 1): ("nan", "NaN or infinity"),
        (2, 2): ("shape", "expected"),
        (2, 3): ("round", "another round or work"),
        (3, 1): ("client:c0", "another name: c0"),
        (3, 2): ("large:400000", "more than the 300000 allowed"),
        (3, 3): ("full", "cannot be written"),
        (4, 1): ("pickle", "cannot be read"),
        (4, 2): ("die", "its node failed"),
        (4, 3): (f"slow:{DEADLINE + 10}", "no reply within"),
    }
    spec = experiment("comet", run__rounds=6)
    plans = {name: {str(r): act for (r, c), (act, _) in acts.items() if NAMES[c] == name} for name in NAMES[1:]}
    running = with_rogues(spec, plans, deadline=DEADLINE, max_bytes=300_000)
    try:
        found = result(running.run(limit=1500))
        missing = running.missing()
        assert [(round, client) for round, client, _ in missing] == sorted(acts)
        for round, client, why in missing:
            assert re.search(acts[round, client][1], why), (round, client, why)
    finally:
        running.close()
    kept = [(2, 1), (2, 2), (4, 1)]  # their own work stands, their messages are not used
    plain = result(faulty(spec, tmp_path / "plain", set(acts) - set(kept), kept))
    assert found["fingerprint"] == plain["fingerprint"]
    assert found["messages"] == plain["messages"]


def test_a_node_killed_at_work_is_missed_and_comes_back_with_its_own_state(tmp_path):
    spec = experiment("ditto", run__rounds=9, run__clients=2)
    running = with_rogues(spec, {"c1": {"2": "slow:15"}}, names=NAMES[:2], deadline=300.0)
    try:
        process = running.begin()
        wait_for((running.node("c1") / "did-2").exists, 400, running)
        for pid in with_text(str(running.node("c1")), "flower-supernode"):
            kill(pid)
        assert process.wait(1500) == 0, running.log("run")
        found = result(running.last())
        missing = running.missing()
        assert {client for _, client, _ in missing} == {1}
        rounds = [round for round, _, _ in missing]
        assert rounds == list(range(2, 2 + len(rounds)))
        assert 9 not in rounds, "it did not come back"
        assert max(running.commits("c1")) == 10 - 1
    finally:
        running.close()
    plain = result(faulty(spec, tmp_path / "plain", [(round, 1) for round in rounds]))
    assert found["fingerprint"] == plain["fingerprint"]
    assert found["messages"] == plain["messages"]
