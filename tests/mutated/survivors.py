"""Mutants that no test can or need notice, each with its reason: tests/mutated/survivors.toml."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from fedkin.report.intervals import of_share
from tests.mutated.mutants import Mutant

FILE = Path(__file__).with_name("survivors.toml")
SOURCE = FILE.parents[2] / "src" / "fedkin"


class Named(NamedTuple):
    """A mutant, wherever its line is by now. at: the line itself."""

    file: str
    function: str
    at: str
    old: str
    new: str


class Survivor(NamedTuple):
    """One that may live. why: a sentence."""

    mutant: Named
    why: str


def named(mutant: Mutant, source: bytes) -> Named:
    line = source.decode().splitlines()[mutant.line - 1]
    return Named(mutant.file, mutant.function, line.strip(), mutant.old, mutant.new)


def listed() -> list[Survivor]:
    """What the file lists."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8")).get("survivor", [])
    return [Survivor(Named(*(one[name] for name in Named._fields)), one["why"]) for one in found]


def wilson(right: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % of a share; all of it where nothing was tried."""
    return of_share(right / of, of) if of else (0.0, 1.0)
