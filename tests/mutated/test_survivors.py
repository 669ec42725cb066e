"""The list of mutants that may live."""

import re
from pathlib import Path

import pytest

from tests.mutated.mutants import mutants
from tests.mutated.survivors import SOURCE, listed, named, wilson

ROOT = Path(__file__).parents[2]


@pytest.mark.rotating
def test_each_is_still_a_mutant_and_has_a_reason() -> None:
    for one in listed():
        source = (SOURCE / one.mutant.file).read_bytes()
        every = mutants(one.mutant.file, source.decode())
        assert one.mutant in {named(each, source) for each in every}, one.mutant
        assert len(one.why.split()) > 3, one.mutant
    assert len({one.mutant for one in listed()}) == len(listed())


def test_the_page_on_security_names_those_of_methods() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    (row,) = re.findall(
        r"^\| methods' functions for newcomers \| (\d): (.*) \|$", page, re.MULTILINE
    )
    of_methods = [one.mutant for one in listed() if one.mutant.file.startswith("methods/")]
    assert all(f"`{one.function}`" in row[1] for one in of_methods)
    assert int(row[0]) == len(of_methods) + row[1].count("is gone")


def test_wilsons_interval() -> None:
    """Two known ones: 45 of 50, and none at all."""
    assert wilson(45, 50) == pytest.approx((0.786, 0.957), abs=1e-3)
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(10, 10)
    assert (round(low, 3), round(high, 9)) == (0.722, 1.0)
