"""The programs of a folder run once, and end with who keeps them."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower.operator.single_instance import single_instance
from tests.flower.operator.programs import KEPT

KILLED = """
import os, sys
from fedkin.flower.operator.single_instance import single_instance
from fedkin.flower.operator.supervisor import Keeper
from pathlib import Path

with single_instance(Path(os.environ["FOLDER"]), "node"):
    Keeper({"long": ["sh", "-c", sys.argv[1]]}, os.environ).run()
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a child that its parent ended"
)
def test_what_a_killed_keeper_ran_ends_and_a_second_one_names_the_first(tmp_path):
    here = {**os.environ, "FOLDER": str(tmp_path)}
    keeper = subprocess.Popen([sys.executable, "-c", KILLED, KEPT], env=here)

    def lines() -> list[str]:
        told = tmp_path / "long"
        return told.read_text().split() if told.exists() else []

    def until(many: int) -> None:
        end = time.monotonic() + 600
        while len(lines()) < many and time.monotonic() < end:
            time.sleep(0.1)

    until(1)
    (pid,) = lines()
    try:
        with (
            pytest.raises(FedkinError, match=f"running already for .*, process {keeper.pid}: end"),
            single_instance(tmp_path, "node"),
        ):
            pass
        keeper.kill()
        keeper.wait()
        until(2)
        assert lines() == [pid, "ended"]
    finally:
        keeper.kill()
        if lines() == [pid]:
            os.kill(int(pid), signal.SIGKILL)
    with single_instance(tmp_path, "node"):  # its lock ended with it
        pass
