"""benchmarks/choosing.py: every row is a valid experiment, and the pages' commands are
those rows. benchmarks/tree.py: the page has today's numbers.
"""

import shlex
from pathlib import Path

import pytest

from benchmarks.choosing import TABLES
from benchmarks.page import END
from benchmarks.tree import block, tree
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.options import specification
from fedkin.setup.build import method_of
from tests.cli.command import fedkin

ROOT = Path(__file__).parents[2]
SHOWN = {
    line.strip()
    for page in ("comet", "ppfl")
    for line in (ROOT / "docs" / "methods" / f"{page}.md").read_text().splitlines()
    if line.strip().startswith("fedkin run examples/") and "CHANGES" in line
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for changes in TABLES[name].rows.values():
        method_of(specification(TABLES[name].spec, {}, [*TABLES[name].base, *changes])[0])


@pytest.mark.parametrize("command", sorted(SHOWN))
def test_commands_of_the_pages(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Spec] = []
    monkeypatch.setattr("fedkin.cli.run.train", lambda spec, work: trained.append(spec))
    monkeypatch.chdir(ROOT)
    for changes in ([], ["run.rounds=7"]):
        words = shlex.split(
            command.replace("--set CHANGES", " ".join(f"--set {change}" for change in changes))
        )
        result = fedkin(*words[1:])
        assert result.exit_code == 0, result.output
        rows = [
            specification(t.spec, {}, [*t.base, *changes, "run.seed=0"])[0] for t in TABLES.values()
        ]
        assert trained[-1] in rows, command


def test_the_tree_of_the_page_has_the_numbers_of_its_table() -> None:
    page = (ROOT / "docs" / "choosing.md").read_text()
    assert f"<!-- tree -->\n{block()}\n{END}" in page
    gains = (ROOT / "docs" / "gains.md").read_text()
    for line in tree()[1:]:
        words = line.replace("│", " ").split()
        if words[-1] == "%":
            name, *by, hurt, _ = words
            assert f"| {name} | {' | '.join(by)} | {hurt} % |" in gains
