"""A real server that ends, told to or not: the run is resumed, and comes to what it would have come
to.
"""

import signal
import time

from fedkin.experiment.run import run
from tests.flower.cluster import NAMES, cluster, experiment, kill, result, wait_for, with_text


def test_ctrl_c_ends_the_round_and_a_resume_gives_the_same_result(tmp_path):
    spec = experiment("comet", run__rounds=4, run__clients=2)
    with cluster(spec, names=NAMES[:2]) as running:
        process = running.begin()
        wait_for(lambda: running.round() >= 1, 600, running)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130, running.log("run")
        assert "ending this round" in running.log("run")
        assert "--resume" in running.log("run")
        assert not list(running.folder.glob("stop-*"))
        wait_for(lambda: not running.server_apps(), 60, running)
        assert 1 <= running.round() < 4
        assert result(running.run("--resume")) == result(run(spec, tmp_path / "plain"))


def test_server_app_and_superlink_killed_then_resumed_with_the_same_result(tmp_path):
    spec = experiment("comet", run__rounds=5, run__clients=2)
    with cluster(spec, names=NAMES[:2]) as running:
        process = running.begin()
        wait_for(lambda: running.round() >= 1, 400, running)
        for pid in running.server_apps():
            kill(pid)
        assert process.wait(200) == 2
        assert "--resume" in running.log("run")
        process = running.begin("--resume")
        wait_for(lambda: running.round() >= 3, 400, running)
        for pid in with_text(str(running.folder), "flower-superlink"):
            kill(pid)
        assert process.wait(400) == 2
        time.sleep(10)
        assert result(running.run("--resume")) == result(run(spec, tmp_path / "plain"))
        assert len(list((running.folder / "runs").iterdir())) == 1
