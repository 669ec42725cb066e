"""What the shell offers after Tab."""

import pytest

from tests.cli.command import fedkin


def offered(monkeypatch: pytest.MonkeyPatch, words: str) -> list[str]:
    monkeypatch.setenv("_FEDKIN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    return fedkin().stdout.split()


def test_commands_options_and_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"report", "reproduce", "resume"} == set(offered(monkeypatch, "fedkin re"))
    assert offered(monkeypatch, "fedkin run --holdout") == ["--holdout-clients"]
    assert offered(monkeypatch, "fedkin run --method cgpfl_") == ["cgpfl_heur"]


def test_the_script_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = fedkin("--show-completion", "zsh")
    assert shown.exit_code == 0
    assert "_FEDKIN_COMPLETE=complete_zsh" in shown.stdout
