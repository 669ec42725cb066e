"""docs/methods/README.md: a row for each method, which says what it needs."""

import re
from pathlib import Path

import pytest

from fedkin.methods import METHODS, make

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "README.md"
ROWS = {
    name: row.split("|")[4].strip()
    for row in PAGE.read_text(encoding="utf-8").splitlines()
    if row.startswith("| [")
    for name in re.findall(r"\[(\w+)\]", row.split("|")[1])
}


@pytest.mark.parametrize("name", METHODS)
def test_a_row_says_what_the_method_needs(name: str) -> None:
    needs, said = make(name, {}, {"lr": 0.1}).needs, ROWS[name]
    assert ("one architecture" in said) == needs.one_architecture
    assert ("public set" in said) == (needs.public != "none")
    assert ("labeled public set" in said) == (needs.public == "labeled")
    assert ("full participation" in said) == needs.full_participation
    assert ("validation data" in said) == needs.validation
    assert ("classes" in said) == needs.classes
    assert (" head" in said) == needs.head
