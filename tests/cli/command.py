"""The command as tests drive it: in this process, or as a real one."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from fedkin.cli.app import app
from fedkin.core.codes.families import FOREIGN, families
from fedkin.setup.arguments.options import SHORT_FORMS, SPEC_KEYS

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
    """``fedkin …`` in this process; a bug raises here instead of hiding in the result.

    An option that stands in SMALL, say, and is said again beside it counts as said last.
    """
    result = CliRunner().invoke(app, once([str(argument) for argument in arguments]))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@cache
def whole() -> Any:
    """The command line as click has it, made once."""
    return get_command(app)


def once(words: list[str]) -> list[str]:
    """Words of a command, of which an option that is there twice keeps its last place alone, and so
    each key of --set, however it is spelled: fedkin refuses them.
    """
    command: Any = whole()
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    options = [one for one in command.params if one.param_type_name == "option"]
    alone = {name for one in options for name in one.opts if one.multiple and name != "--set"}
    flags = {name for one in options for name in one.opts if one.is_flag}
    kept: dict[object, list[str]] = {}
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        size = 2 if name.startswith("--") and name not in flags and not equals else 1
        value = value if equals else "".join(words[at + 1 : at + size])
        given = value.partition("=")[0] if name == "--set" else name[2:].replace("-", "_")
        key: object = SPEC_KEYS.get(given, f"{given}.name" if given in SHORT_FORMS else given)
        if command.name == "doctor" and name == "--rounds":
            key = "rounds of the cost probe"
        key = key if name.startswith("--") and name not in alone else at
        kept.pop(key, None)
        kept[key] = words[at : at + size]
        at += size
    return [word for option in kept.values() for word in option]


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
    command = [sys.executable, "-m", "fedkin", *once([*map(str, arguments)])]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def without_record(run: Path) -> None:
    """As if it was killed before its record was there, and so before any state."""
    (run / "run.db").unlink()
    shutil.rmtree(run / "checkpoint")
