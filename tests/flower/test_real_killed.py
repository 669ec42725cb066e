"""A real node that is killed at its work: it is missed, and comes back."""

from tests.flower.cluster import NAMES, experiment, kill, result, wait_for, with_text
from tests.flower.reference import faulty
from tests.flower.rogues import with_rogues


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
    away = [(round, 1) for round in rounds]
    unreached = [(round, 1) for round, _, why in missing if why == "its node is not connected"]
    plain = result(faulty(spec, tmp_path / "plain", away, unreached=unreached))
    assert found["fingerprint"] == plain["fingerprint"]
    assert found["messages"] == plain["messages"]
