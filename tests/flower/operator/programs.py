"""Flower's programs, played by a test: what was asked of them, and what they answer."""

import subprocess
import sys
from pathlib import Path

HERE = Path(sys.executable).parent
# a program that says when it began, and that it ended by itself
KEPT = """
trap 'sleep 0.3; echo ended >> "$FOLDER/long"; exit' TERM
echo $$ >> "${FOLDER:?}/long"
while :; do sleep 0.05; done
"""


class Keeper:
    """One that starts nothing: what it was made of and, once it is running, run with."""

    def __init__(self, commands, environment) -> None:
        self.commands, self.environment = commands, environment
        self.running = False

    def run(self, after=None, daily=None) -> None:
        self.running, self.after, self.daily = True, after, daily


class Programs:
    """Flower's programs: what was asked, and what they answer, in turn."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.homes: list[str] = []
        self.answers: list[tuple[int, str, str]] = []

    def run(self, command, *, env, capture_output, start_new_session, text, check):
        assert capture_output
        assert start_new_session
        assert text
        assert not check
        self.asked.append(command)
        self.homes.append(env["FLWR_HOME"])
        return subprocess.CompletedProcess(command, *self.answers.pop(0))
