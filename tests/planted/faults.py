"""The planted faults (*.toml of this folder): what is changed in which file, and who must notice.

A fault's old text is found whatever the formatter did with it: line breaks, indentation and the
comma before a closing bracket do not count.
"""

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w")


class Fault(NamedTuple):
    """A small mistake: ``new`` in place of ``old`` in a file of src/fedkin."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]  # files that must fail
    group: str = ""  # the file of this folder that names it


def planned() -> list[Fault]:
    """The faults of tests/planted/*.toml, file by file."""
    found = []
    for path in sorted(HERE.glob("*.toml")):
        for item in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
            found.append(Fault(**{**item, "tests": tuple(item["tests"]), "group": path.name}))
    return found


def planted(text: str, fault: Fault) -> tuple[str, int]:
    """The text with the fault in it, and how often its old text occurs: it counts only once."""
    if (exact := text.count(fault.old)) == 1:
        return text.replace(fault.old, fault.new), exact
    places = list(_pattern(fault.old).finditer(text))
    if len(places) != 1:
        return text, len(places)
    start, end = places[0].span()
    return text[:start] + fault.new.strip() + text[end:], 1


def _pattern(old: str) -> re.Pattern[str]:
    """The tokens of the old text, with any space between them."""
    tokens = TOKEN.findall(old)
    parts = [re.escape(tokens[0])]
    for before, token in pairwise(tokens):
        comma = ",?" if token in ")]}" and before != "," else ""
        words = WORD.match(before) and WORD.match(token)
        parts.append(comma + (r"\s+" if words else r"\s*") + re.escape(token))
    return re.compile("".join(parts))
