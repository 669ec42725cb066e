"""Mutants that no test can or need notice, each with its reason: tests/mutated/survivors.toml."""

import math
import tomllib
from pathlib import Path
from typing import NamedTuple

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
    """Wilson's interval of 95 % of a share."""
    if not of:
        return 0.0, 1.0
    z, share = 1.959964, right / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return middle - half, middle + half
