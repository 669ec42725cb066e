"""Ctrl-C on a real process: the round is finished and committed, and a resume ends where an
uninterrupted run ends.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import MODULE, SMALL, fedkin, process

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="SIGINT cannot be sent to one process there"
)

ROUNDS = 80
RUN = [
    "--engine",
    "inprocess",
    "--method",
    "fedavg",
    "--clients",
    "5",
    "--rounds",
    ROUNDS,
    "--set",
    "train.steps=20",
]


PATIENT = 600  # seconds: machines of tests are busy


def after_ctrl_c(folder: Path) -> tuple[int, str]:
    """How a run ended that was told to, and what it said."""
    shutil.rmtree(folder / "stopped", ignore_errors=True)
    stopped = process("run", *RUN, "--out", "stopped", folder=folder)
    assert stopped.stdout is not None
    for line in stopped.stdout:
        if line.startswith("round 1/"):
            stopped.send_signal(signal.SIGINT)
            break
    _, told = stopped.communicate(timeout=PATIENT)
    return stopped.returncode, told


@pytest.mark.rotating
def test_ctrl_c_then_resume_gives_the_same_result(tmp_path: Path) -> None:
    for _ in range(9):
        code, told = after_ctrl_c(tmp_path)
        if code != 0:  # else it was over before this process had its turn
            break
    assert code == 130, told
    first, last = told.splitlines()
    assert first == "ending this round, then stopping; Ctrl-C again stops at once"
    assert last.startswith("stopped after round ")
    assert last.endswith("; continue with: fedkin resume stopped")
    half = shown(tmp_path / "stopped")
    assert not half["finished"]
    assert 1 <= half["rounds"] < ROUNDS
    assert fedkin("resume", tmp_path / "stopped").exit_code == 0
    assert fedkin("run", *RUN, "--out", tmp_path / "whole").exit_code == 0
    end, expected = shown(tmp_path / "stopped"), shown(tmp_path / "whole")
    assert end["fingerprint"] == expected["fingerprint"]
    assert end["accuracy"] == expected["accuracy"]
    assert end["communication"] == expected["communication"]


def without_reader(*arguments: object, folder: Path) -> "subprocess.CompletedProcess[str]":
    """``fedkin …`` into a pipe that nobody reads from the start: ``| head`` may read all before it
    closes.
    """
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "fedkin", *map(str, arguments)],
            cwd=folder,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENT,
        )
    finally:
        os.close(writer)


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    assert without_reader("data", folder=tmp_path).stderr == ""


@pytest.mark.rotating
def test_a_closed_pipe_ends_no_training(tmp_path: Path) -> None:
    usual = fedkin("run", *RUN, "--out", tmp_path / "whole").stderr.splitlines()
    done = without_reader("run", *RUN, "--out", "piped", folder=tmp_path)
    note = "note: nobody reads this command's output any more: its work goes on"
    assert sorted(done.stderr.splitlines()) == sorted([note, *usual])  # once, and no traceback
    piped, whole = shown(tmp_path / "piped"), shown(tmp_path / "whole")
    assert (piped["finished"], piped["fingerprint"]) == (True, whole["fingerprint"])


@pytest.mark.rotating
def test_the_console_script_and_its_workers_find_a_users_module(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(MODULE)
    arguments = [*SMALL[2:], "--engine", "processes:1", "--model", "nets:Net", "--out", "run"]
    command = Path(sys.executable).with_name("fedkin")
    done = subprocess.run(
        [command, "run", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENT
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert shown(tmp_path / "run")["model"] == "nets:Net"


def shown(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fedkin("show", folder, "--json").stdout)
    return found


@pytest.mark.parametrize(("times", "code"), [(1, 0), (2, -signal.SIGINT)])
def test_ctrl_c_while_the_interpreter_ends(times: int, code: int) -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "from fedkin.cli.app import main\n"
        "sys.argv = ['fedkin', '--version']\n"
        f"atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range({times})])\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith("fedkin ")
