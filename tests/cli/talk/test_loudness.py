"""``--quiet``, ``--verbose``, NO_COLOR and the logger: what each leaves out and adds."""

import logging
from pathlib import Path
from typing import Any

import pytest
import typer

from fedkin.cli.app import app
from fedkin.cli.talk.loudness import tell_where
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import fail, loudness, note, print_notice
from tests.cli.command import SMALL, fedkin


def leaves(command: Any, typed: str = "fedkin") -> list[tuple[str, Any]]:
    """Every command that does something, with what one types."""
    below = getattr(command, "commands", {})
    found = [one for name, inner in below.items() for one in leaves(inner, f"{typed} {name}")]
    return found or [(typed, command)]


def test_every_command_takes_both() -> None:
    every = leaves(typer.main.get_command(app))
    assert len(every) > 25
    for typed, command in every:
        options = [name for one in command.params for name in one.opts]
        assert [options.count(name) for name in ("--quiet", "--verbose")] == [1, 1], typed


def test_quiet_leaves_results_and_errors(tmp_path: Path) -> None:
    loud = fedkin("run", *SMALL, "--out", tmp_path / "a")
    quiet = fedkin("run", *SMALL, "--out", tmp_path / "b", "--quiet")
    assert "round 2/2" in loud.stdout
    assert "round" not in quiet.stdout.split("result", 1)[0]
    assert quiet.stdout.startswith("result")
    assert ("\nnext " in loud.stdout, "\nnext " in quiet.stdout) == (True, False)
    assert quiet.stderr == ""
    wrong = fedkin("show", tmp_path, "--quiet")
    assert wrong.stderr.startswith("error: ")
    assert wrong.stderr.count("\n") == 1


def test_quiet_names_no_next_command(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("site,x,y\n" + "".join(f"s{k % 3},{k},{k % 2}\n" for k in range(60)))
    words = ("data", "check", table, "--client", "site", "--label", "y")
    loud, quiet = fedkin(*words), fedkin(*words, "--quiet")
    assert ("\nnext " in loud.stdout, "\nnext " in quiet.stdout) == (True, False)


def test_quiet_silences_notes_of_this_command_alone(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("num_clients = 5")
    hinted = ("run", tmp_path / "x.toml", *SMALL, "--out")
    assert "hint: " in fedkin(*hinted, tmp_path / "a").stderr
    assert fedkin(*hinted, tmp_path / "b", "--quiet").stderr == ""
    assert "hint: " in fedkin(*hinted, tmp_path / "c").stderr


def test_verbose_says_where_an_error_came_from(tmp_path: Path) -> None:
    plain, told = fedkin("show", tmp_path), fedkin("show", tmp_path, "--verbose")
    assert "open_run" not in plain.stderr
    assert "open_run" in told.stderr
    assert told.stderr.splitlines()[-1] == plain.stderr.strip()


def test_verbose_shows_the_lines_of_what_an_error_tells_of(caplog) -> None:
    def breaks() -> None:
        raise KeyError("params")

    caplog.set_level(logging.DEBUG, "fedkin")
    try:
        try:
            breaks()
        except KeyError as error:
            raise FedkinError("server_update fails") from error
    except FedkinError as error:
        tell_where(error)
    assert "in breaks" in caplog.text


def test_verbose_says_which_settings_and_engine_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))
    done = fedkin("run", *SMALL, "--out", tmp_path / "run", "--verbose")
    assert f"data folder {tmp_path}, from FEDKIN_DATA" in done.stderr
    assert "engine inprocess" in done.stderr


def test_lines_are_records_of_the_logger(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    loudness(logging.INFO)
    with caplog.at_level(logging.DEBUG, "fedkin"):
        fail("a")
        note("b\x1b[2J")
        for text in ("100 % of %s", "error: b's weight", "note: the file's name"):
            print_notice(text)  # a level is what is called, and no word of a text
    assert [one.levelname for one in caplog.records] == ["ERROR", "WARNING", "INFO", "INFO", "INFO"]
    shown = capsys.readouterr().err.splitlines()
    assert shown[:3] == ["error: a", "note: b\\x1b[2J", "100 % of %s"]


def test_no_color_is_kept_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in fedkin("methods").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in fedkin("methods").stdout
