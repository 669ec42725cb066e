"""docs/security.md names a test for each claim; every test that it names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def missing(text: str) -> list[str]:
    """The tests that a text names and nobody wrote."""
    found = []
    for file, name in NAMED.findall(text):
        path = ROOT / file
        tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.parse("")
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            found.append(f"{file}::{name}")
    return found


def test_every_test_that_security_names_is_there() -> None:
    text = CLAIMS.read_text(encoding="utf-8")
    assert missing(text) == []
    assert len(NAMED.findall(text)) >= 20


def test_every_claim_has_its_test() -> None:
    """No row of the table is without one."""
    table = CLAIMS.read_text(encoding="utf-8").split("| claim | test |")[1].split("\n\n")[0]
    rows = table.strip().splitlines()[1:]
    assert rows
    assert all(NAMED.search(row) for row in rows)


def test_the_test_sees_a_test_that_is_gone() -> None:
    assert missing("`tests/layers/test_claims.py::test_gone`") != []
    assert missing("`tests/nowhere.py::test_x`") != []
