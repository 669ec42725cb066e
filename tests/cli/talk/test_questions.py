"""Questions that a command asks."""

import pytest
import typer
from typer.testing import CliRunner

from fedkin.cli.talk.questions import agree, choose, free
from fedkin.core.errors import FedkinError

NAMES = ["age", "ward", "10"]


def asked(question, given):
    """What a question makes of an input, and what was said."""
    app, found = typer.Typer(), []

    @app.command()
    def ask():
        found.append(question())

    result = CliRunner().invoke(app, input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return found[0], result


@pytest.mark.parametrize(
    ("given", "name"),
    [("\n", "ward"), ("1\n", "age"), ("ward\n", "ward"), ("3\n", "10"), ("10\n", "10")],
)
def test_a_number_a_name_or_what_is_proposed(given, name) -> None:
    found, result = asked(lambda: choose("Which label?", NAMES, "ward", "--label"), given)
    assert found == name
    assert " 2  ward  (proposed)" in result.stdout
    assert "Number or name [2]" in result.stdout


def test_what_is_no_answer_is_asked_again() -> None:
    found, result = asked(lambda: choose("Which?", NAMES, "age", "--label"), "4\n0\n²\nwad\nward\n")
    assert found == "ward"
    assert result.stdout.count("Number or name [1]") == 5
    assert "unknown answer 'wad': did you mean 'ward'" in result.stderr


@pytest.mark.parametrize(
    ("proposed", "given", "found"),
    [(True, "\n", True), (False, "\n", False), (True, "NO\n", False), (False, "y\n", True)],
)
def test_yes_or_no(proposed, given, found) -> None:
    answer, result = asked(lambda: agree("Go on?", proposed, "--yes"), given)
    assert answer is found
    assert ("[Y/n]" if proposed else "[y/N]") in result.stdout
    again, told = asked(lambda: agree("Go on?", proposed, "--yes"), "perhaps\n" + given)
    assert again is found
    assert "'perhaps' is neither yes nor no" in told.stderr


def test_a_free_text() -> None:
    assert asked(lambda: free("Where?", "a.toml", "--out"), "\n")[0] == "a.toml"
    assert asked(lambda: free("Where?", "a.toml", "--out"), " b c \n")[0] == "b c"


def test_no_answer_names_the_option() -> None:
    with pytest.raises(FedkinError, match="no answer to 'Which one': give --label, or --yes to"):
        asked(lambda: choose("Which one\nof these?", NAMES, "age", "--label"), "")
