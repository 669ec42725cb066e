"""The command as tests drive it: in this process, or as a real one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from fedkin.cli.app import app
from fedkin.core.codes.families import FOREIGN, families

SMALL = [
    "--engine",
    "inprocess",
    "--method",
    "fedavg",
    "--rounds",
    "2",
    "--clients",
    "5",
    "--set",
    "train.steps=2",
]

MODULE = """
from torch import nn


class Net(nn.Sequential):
    def __init__(self, classes: int) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, classes))
"""


def fedkin(*arguments: object) -> Any:
    """``fedkin …`` in this process; a bug raises here instead of hiding in the result."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*arguments: object) -> str:
    """The one sentence that a wrong command line gets on stderr; exit code 2, nothing on stdout."""
    result = fedkin(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if not line.startswith("hint: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    sentence, code = lines[0].removeprefix("error: ").removesuffix("]").rsplit(" [", 1)
    assert code in families(), lines[0]
    assert code != FOREIGN, lines[0]
    return sentence


def ran(out: Path, *arguments: object) -> dict[str, Any]:
    """What ``show --json`` tells of a small run with these arguments."""
    result = fedkin("run", *SMALL, *arguments, "--out", out)
    assert result.exit_code == 0, result.output
    shown = fedkin("show", out, "--json")
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def process(*arguments: object, folder: Path) -> "subprocess.Popen[str]":
    """``fedkin …`` as a process of its own, as a console starts it."""
    command = [sys.executable, "-m", "fedkin", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def without_record(run: Path) -> None:
    """As if it was killed before its record was there, and so before any state."""
    (run / "run.db").unlink()
    shutil.rmtree(run / "checkpoint")
