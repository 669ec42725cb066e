"""What the shell offers after Tab."""

import pytest

from fedkin.cli.completion import method_names
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


def test_method_names_are_those_that_begin_so(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [{"name": name} for name in ("ditto", "fedpac", "fedper")]
    monkeypatch.setattr("fedkin.cli.listing.methods.methods", lambda: names)
    assert method_names("fedp") == ["fedpac", "fedper"]
    assert method_names("zz") == []


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("fedkin methods cgpfl_", ["cgpfl_heur"]),
        ("fedkin run --data fem", ["femnist"]),
        ("fedkin run --split iid", ["iid"]),
        ("fedkin run --model cnn_c", ["cnn_comet", "cnn_cgpfl"]),
        ("fedkin run --measure average", ["average_precision"]),
        ("fedkin run --transform krum", ["krum"]),
        ("fedkin run --engine in", ["inprocess"]),
        ("fedkin sweep --split two", ["two_class"]),
        ("fedkin doctor --measure spec", ["specificity"]),
        ("fedkin reproduce ppfl-table-1", ["ppfl-table-1"]),
        ("fedkin explain FED-30", [f"FED-30{digit}" for digit in (1, 2, 3)]),
    ],
)
def test_names(monkeypatch: pytest.MonkeyPatch, words: str, names: list[str]) -> None:
    assert offered(monkeypatch, words)[: len(names)] == names
    assert offered(monkeypatch, words + "-no-such-name") == []


def test_the_script_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = fedkin("--show-completion", "zsh")
    assert shown.exit_code == 0
    assert "_FEDKIN_COMPLETE=complete_zsh" in shown.stdout
