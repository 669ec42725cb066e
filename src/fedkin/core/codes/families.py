"""The code of an error: from words of its sentence, or from the module that raised it.

No raise names a code. ``families.toml`` says which modules and words are of which family; the
module that raised is the longest of its names that fits.
"""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOREIGN = "FED-199"  # what no family claims
SYSTEM = "FED-102"  # what the operating system refused
USAGE = "FED-101"  # what the parser of the command line refused
PACKAGE = "fedkin."


@dataclass(frozen=True)
class Family:
    """One code.

    ``raised_in``: modules without "fedkin."; ``says``: patterns of sentences; ``do``: what to try;
    ``typed``: a command that shows the code in a folder that holds just ``made`` (name → text).
    """

    code: str
    title: str
    means: str
    example: str
    do: list[str]
    raised_in: list[str] = field(default_factory=list)
    says: list[str] = field(default_factory=list)
    typed: str = ""
    made: dict[str, str] = field(default_factory=dict)


@cache
def families() -> dict[str, Family]:
    """Every family, by its code.

    Returns:
        {"FED-301": its family, …}.
    """
    text = Path(__file__).with_name("families.toml").read_text(encoding="utf-8")
    read: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {code: Family(code=code, **content) for code, content in read.items()}


def code_of(sentence: str, module: str) -> str:
    """The code of an error.

    >>> code_of("the file is empty", "fedkin.data.formats.csv_file")
    'FED-302'
    >>> code_of("unknown method 'x' (choices: y)", "fedkin.core.errors")
    'FED-106'
    >>> code_of("no client answered", "somebody.method")
    'FED-199'

    Args:
        sentence: What the error says.
        module: The full name of the module that raised it.

    Returns:
        A key of ``families()``.
    """
    for code, pattern in _sentences():
        if pattern.search(sentence):
            return code
    return of_module(module)


def of_module(module: str) -> str:
    """The family of what a module raises.

    Args:
        module: Its full name.

    Returns:
        The code of the longest name in ``raised_in`` that the module is, or stands in; FOREIGN
        where there is none.
    """
    if not module.startswith(PACKAGE):
        return FOREIGN
    place = module.removeprefix(PACKAGE)
    known = _places()
    while place and place not in known:
        place = place.rpartition(".")[0]
    return known.get(place, FOREIGN)


@cache
def _places() -> dict[str, str]:
    return {place: one.code for one in families().values() for place in one.raised_in}


@cache
def _sentences() -> list[tuple[str, re.Pattern[str]]]:
    return [(one.code, re.compile(words)) for one in families().values() for words in one.says]
