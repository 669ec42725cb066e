"""What a command says of a mistake: one line on stderr."""

import logging
import sqlite3
import sys
from types import SimpleNamespace

import pytest

from fedkin.cli.talk.mistakes import ROOM, interrupted, of_the_system, print_error, usage
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import loudness
from tests.cli.command import told


def test_one_line_whatever_the_sentence_holds(capsys) -> None:
    loudness(logging.INFO)
    print_error("no\x1b[31m such\n\n file", "FED-301")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: no\\x1b[31m such file [FED-301]\n"
    print_error("x" * 3 * ROOM, "FED-301")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("[FED-301]")  # the code is not cut off
    assert len(line) < ROOM + 40


def test_what_the_system_refused_has_no_numbers() -> None:
    error = PermissionError(13, "Permission denied", "/a/b")
    assert of_the_system(error) == "/a/b cannot be read or written: Permission denied"
    assert of_the_system(OSError("strange")) == "strange"
    assert of_the_system(sqlite3.OperationalError("disk is full")) == "disk is full"


def test_only_a_run_that_began_was_interrupted(monkeypatch) -> None:
    from fedkin.experiment.training import Interrupted

    assert interrupted(Interrupted("stopped"))
    assert not interrupted(FedkinError("stopped"))
    monkeypatch.delitem(sys.modules, "fedkin.experiment.training")
    assert not interrupted(FedkinError("stopped"))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "--local-learning-rate",
            "--local-learning-rate is called train.lr here: --set train.lr=VALUE",
        ),
        ("--nothing", "No such option"),
        (None, "No such option"),
    ],
)
def test_other_libraries_options_lead_to_ours(option, said) -> None:
    error = SimpleNamespace(option_name=option, format_message=lambda: "No such option")
    assert usage(error) == said


@pytest.mark.parametrize(
    ("group", "some"),
    [("bench", "add, list, page, run, verify"), ("deploy", "add, check, columns, export, ")],
)
def test_a_group_without_a_command_names_its_commands(group, some) -> None:
    assert f"{group} needs a command: {some}" in told(group)


@pytest.mark.parametrize("option", ["--rounds", "--set", "--method"])
def test_resume_takes_no_setting_and_says_who_does(option) -> None:
    said = told("resume", "somewhere", option, "3")
    assert said.startswith(
        f"a run goes on with the settings it began with, so resume takes no {option}"
    )
    assert f"fedkin run DIR/experiment.toml {option} VALUE --out ANOTHER" in said
    assert "No such option" in told("resume", "somewhere", "--nothing", "3")
