"""What every command prints with ``--json`` is what its schema says."""

from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator, ValidationError

from fedkin.cli.app import app
from tests.cli.json_outputs import as_written, outputs
from website.json_page import schemas
from website.json_schema import of, rows

LIKE_OTHERS = {  # print what another command prints
    "bench add": "bench run",
    "deploy export": "export",
    "deploy predict": "predict",
    "deploy run": "run",
    "resume": "run",
}
# in tests/flower: test_newcomer.py, operator/test_status.py, table/test_prepare.py
ELSEWHERE = {"deploy check", "deploy join", "deploy prepare", "deploy status"}


def with_json(command: Any, typed: str = "") -> set[str]:
    """Every command that takes --json, as one types it."""
    found = {typed} if any("--json" in one.opts for one in command.params) else set()
    for name, inner in getattr(command, "commands", {}).items():
        found |= with_json(inner, f"{typed} {name}".strip())
    return found


def leaves(command: Any, typed: str = "") -> set[str]:
    """Every command that does something itself, as one types it."""
    inner = getattr(command, "commands", {})
    found = set() if inner else {typed}
    for name, one in inner.items():
        found |= leaves(one, f"{typed} {name}".strip())
    return found


def test_every_command_with_json_has_a_schema() -> None:
    described = {name.split(" FED-")[0].split(" --")[0] for name in schemas()}
    assert with_json(typer.main.get_command(app)) - described - set(LIKE_OTHERS) == set()


def test_commands_without_json_are_named() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    told = page.partition("has `--json`")[2].partition("have none")[0]
    command = typer.main.get_command(app)
    without = leaves(command) - with_json(command)
    assert without == {name for name in leaves(command) if f"`{name}`" in told}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return outputs(tmp_path_factory.mktemp("outputs"))


def test_the_file_of_schemas_is_as_it_is_written_anew(found: dict[str, list[Any]]) -> None:
    """Nothing in it was typed: a command of none of these outputs is tested in tests/flower."""
    for command, printed in found.items():
        assert as_written(of(printed)) == as_written(schemas()[command]), (
            f"{command}: python -m tests.cli.json_outputs writes website/json_output.json anew"
        )


def test_every_output_is_what_its_schema_says(found: dict[str, list[Any]]) -> None:
    assert set(found) == set(schemas()) - ELSEWHERE
    for command, printed in found.items():
        validator = Draft202012Validator(schemas()[command])
        for one in printed:
            errors = [
                f"{command}: {error.json_path}: {error.message[:200]}"
                for error in validator.iter_errors(one)
            ]
            assert errors == []


def test_a_schema_sees_what_is_gone_new_or_of_another_type() -> None:
    examples = [
        {"a": 1, "b": [1.5], "hyper": {"x": 1}},
        {"a": 2, "b": [None], "c": "", "hyper": {}},
    ]
    schema = of(examples)
    validator = Draft202012Validator(schema)
    for one in examples:
        validator.validate(one)
    good = {"a": 3, "b": [], "hyper": {"anything": [1]}}
    validator.validate(good)
    for bad in ({**good, "d": 1}, {**good, "a": "3"}, {"a": 1}, {**good, "b": ["x"]}):
        with pytest.raises(ValidationError):
            validator.validate(bad)
    assert dict(rows(schema)) == {
        "(whole)": "object",
        "a": "integer or null",
        "b": "array",
        "b[]": "null or number",
        "hyper": "object",
        "c": "string",
    }
    runs = [{"run": "1", "auc": 0.5}]
    (ours, status) = (of([one]) for one in ({"runs": runs}, {"privacy": {"runs": runs}}))
    assert ours["properties"]["runs"]["items"]["additionalProperties"]
    inner = status["properties"]["privacy"]["properties"]["runs"]
    assert not inner["items"]["additionalProperties"]
