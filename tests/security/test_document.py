"""docs/security.md: the tests and files that it names are there, every boundary and every method is
in its table.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from typer.main import get_command

from fedkin.cli.app import app
from fedkin.methods import METHODS, make
from tests.engine.small import METHODS as HYPER
from tests.security.hostile import PLANTS
from tests.security.test_run_directory import EVERY, some

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "security.md"
RUN_DIRECTORY = "A run directory from somebody else"
TABLE = re.compile(r"^\| claim \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|\n").split(" | ")]


def claims() -> list[tuple[str, list[str]]]:
    """(claim, its tests) of every table."""
    if not DOCUMENT.is_file():
        pytest.skip("the documents are not here")
    tables = TABLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    rows = [cells(row) for table in tables for row in table.splitlines()]
    return [(claim, re.findall(r"`(tests/[^`]+)`", tests)) for claim, tests in rows]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_claim_names_tests_that_are_there() -> None:
    found = claims()
    assert len(found) > 50
    for claim, tests in found:
        assert tests, claim
        for test in tests:
            path, _, name = test.partition("::")
            assert name.startswith("test_"), (claim, test)
            assert name in functions(ROOT / path), (claim, test)


def test_every_boundary_is_in_the_table() -> None:
    pytest.importorskip("flwr")
    pytest.importorskip("pyarrow")
    from tests.fuzz.boundaries import BOUNDARIES

    claims()
    text = DOCUMENT.read_text(encoding="utf-8")
    _, _, after = text.partition("| boundary | where |")
    rows = [cells(row) for row in after.partition("\n\n")[0].splitlines()[2:]]
    named = {case for row in rows for case in re.findall(r"`([^`]+)`", row[2])}
    assert named == set(BOUNDARIES)
    for _, where, _ in rows:
        for path in re.findall(r"`([^`]+)`", where):
            assert (ROOT / path).is_file(), path


def test_what_methods_send_is_said_of_methods_and_once() -> None:
    claims()
    _, _, after = DOCUMENT.read_text(encoding="utf-8").partition("| method | in a client's")
    rows = [cells(row) for row in after.partition("\n\n")[0].splitlines()[2:]]
    named = [name for row in rows for name in row[0].split(", ")]
    pooled = {m for m in METHODS if make(m, HYPER.get(m, {}), {"lr": 0.1}).needs.pooled}
    assert sorted(named) == sorted(set(METHODS) - pooled)


def test_every_command_that_asks_for_trust_is_named() -> None:
    section = the_section("Code that a file names")
    assert {f"`{' '.join(words)}`" for words in asking(get_command(app))} == {
        f"`{name}`" for name in re.findall(r"`((?:bench |deploy )?[a-z]+)`", trusting(section))
    }


def asking(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Names of the commands that have --trust-code."""
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from asking(one, (*words, name))
    elif any("--trust-code" in parameter.opts for parameter in command.params):
        yield words


def the_section(heading: str) -> str:
    claims()
    _, _, after = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    return after.partition("\n## ")[0]


def trusting(section: str) -> str:
    """The item that says which commands refuse a file's code."""
    (item,) = (item for item in section.split("\n- ") if item.startswith("What a file names"))
    return item.replace("\n  ", " ")


def test_as_many_run_directories_as_are_said_are_opened() -> None:
    section = the_section(RUN_DIRECTORY)
    assert re.findall(r"opens (\d+) such directories", section) == [str(len(PLANTS))]
    assert (len(some(0)), len(EVERY)) == (2, 12)
    assert "with two commands in their turn, in the nightly with all twelve" in section
    assert f"nightly's {(len(PLANTS) + 1) * len(EVERY)} uses" in " ".join(section.split())


def test_as_many_hostile_values_as_are_said_are_tried() -> None:
    pytest.importorskip("flwr")
    pytest.importorskip("pyarrow")
    from tests.fuzz.test_boundaries import NIGHTLY, QUICK

    section = the_section("The boundaries")
    assert re.findall(r"grammar makes: (\d+) in the suite", section) == [str(QUICK)]
    assert f"{NIGHTLY:,} in the nightly" in section
