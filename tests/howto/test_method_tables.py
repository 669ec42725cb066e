"""The tables of docs/howto/method.md have all that a method can be made of."""

import re
from pathlib import Path
from typing import Any

import pytest

from fedkin.core import hyperparameters, method
from fedkin.core.method import Method, Needs

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "method.md").read_text(encoding="utf-8")
PART = PAGE.partition("\n## What a method is made of\n")[2].partition("\n## ")[0]
TABLES = [block.splitlines()[2:] for block in PART.split("\n\n") if block.startswith("| ")]
NO_RANGES = {"FINITE", "MOST", "OutOfRange"}


def named(rows: list[str]) -> list[str]:
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


@pytest.mark.parametrize(("of", "rows"), [(Method, TABLES[0]), (Needs, TABLES[1])])
def test_every_field_is_there_once_with_its_default(of: Any, rows: list[str]) -> None:
    assert sorted(named(rows)) == sorted(of._fields)
    for row in rows:
        told = row.split("|")[-2].strip()
        for name in named([row]):
            if name not in of._field_defaults:
                assert not told, name
            elif told.startswith(("`", '"')):
                assert eval(told.strip("`"), vars(method)) == (of._field_defaults[name]), name


def test_every_range_is_there_once() -> None:
    ranges = {name for name in hyperparameters.__all__ if name[0].isupper()} - NO_RANGES
    told = [name for name in named(TABLES[2]) if name not in ("float", "int", "bool")]
    assert sorted(told) == sorted(ranges)
