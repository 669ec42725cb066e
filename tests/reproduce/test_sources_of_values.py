"""Each value of a preset or a base specification says where it is from.

A line that sets something has a comment on it or directly above it. The rows of an axis are a
group: a comment directly above its table, or above a row in it, holds for the rows below. Where a
comment stands for several settings it names each of them.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fedkin.reproduce

HERE = Path(fedkin.reproduce.__file__).parent
FILES = sorted([*HERE.glob("presets/*.toml"), *HERE.glob("specs/*.toml")])
TOLD = {  # what a preset is called, shows and is compared with: its title says which table it is
    *("title", "about", "flagged", "flags_of", "name", "spec", "runner", "published", "where"),
    *("charts", "rows_of", "prefix", "only"),
}
WHOLE = {"small", "values"}  # one comment is enough: fedkin's own scale, and what is measured
AXIS = re.compile(r"\.axes\.\w+$")


def unsourced(text: str, told: set[str]) -> list[str]:
    """The lines that lack a source, each with the settings that no comment names.

    Args:
        text: A file with one value a line; a list over several lines is passed over.
        told: Keys of tables other than axes that need none.
    """
    found: list[str] = []
    table = above = group = ""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        bare, comment = _parted(line.strip())
        if inside or bare.endswith("= ["):
            inside = not bare.endswith("]")
        elif not bare:
            above = f"{above} {comment}" if comment else ""
        elif bare.startswith("["):
            table, group, above = bare.strip("[]"), f"{above} {comment}", ""
        else:
            ((key, value),) = tomllib.loads(bare).items()
            axis = bool(AXIS.search(table))
            group = f"{group} {above}" if axis else above
            lacking = [] if key in told and not axis else _lacking(key, value, comment, group)
            if lacking:
                found.append(f"line {number}: {key} ({', '.join(lacking)})")
            above = ""
    return found


def _parted(line: str) -> tuple[str, str]:
    """The line without its comment, and the comment: a # within a string begins none."""
    for place in re.finditer(r"\s*#", line):
        bare = line[: place.start()]
        try:
            tomllib.loads(bare)
        except tomllib.TOMLDecodeError:
            continue
        return bare, line[place.start() :].strip()
    return line, ""


def _lacking(key: str, value: Any, comment: str, above: str) -> list[str]:
    """What of a line neither its own comment nor one above it names; its key where it has none."""
    if not isinstance(value, dict) or key in WHOLE:
        return [] if comment or above.strip() else [key]
    wanted = dict.fromkeys(_settings(value))
    if comment and len(wanted) == 1:
        return []
    return [name for name in wanted if not re.search(rf"\b{name}\b", f"{comment} {above}")]


def _settings(content: dict[str, Any], of: str = "") -> Iterator[str]:
    """What an inline table sets: the last name of each key, of a name what it names."""
    for key, value in content.items():
        path = f"{of}.{key}".strip(".")
        if isinstance(value, dict) and not path.endswith("model.map"):
            yield from _settings(value, path)
        elif not path.endswith("method.name"):  # which method a row is its table says
            *_, parent, last = f".{path}".split(".")
            yield parent if last == "name" and parent else last


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_each_value_says_where_it_is_from(file: Path) -> None:
    told = TOLD if file.parent.name == "presets" else set()
    assert not unsourced(file.read_text(encoding="utf-8"), told)


def test_all_files_are_looked_at() -> None:
    assert {file.parent.name for file in FILES} == {"presets", "specs"}
    assert len(FILES) >= 16


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_missing_source_is_seen(file: Path) -> None:
    """Without comments most lines of a preset are found, and each of a base specification."""
    told = TOLD if file.parent.name == "presets" else set()
    lines = file.read_text(encoding="utf-8").splitlines()
    bare = [_parted(line)[0] for line in lines]
    assert len(unsourced("\n".join(bare), told)) > 3
    if file.parent.name == "specs":
        for number, line in enumerate(lines):
            if bare[number].strip() and bare[number] != line:
                planted = "\n".join([*lines[:number], bare[number], *lines[number + 1 :]])
                assert [found.split(":")[0] for found in unsourced(planted, told)] == [
                    f"line {number + 1}"
                ]


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("lr = 0.1", ["line 1: lr (lr)"]),
        ("lr = 0.1 # caption", []),
        ("# caption\nlr = 0.1", []),
        ("# the file\n\nlr = 0.1", ["line 3: lr (lr)"]),
        ("# of the first\nlr = 0.1\nsteps = 5", ["line 3: steps (steps)"]),
        ('a = "x # y"', ["line 1: a (a)"]),
        ('a = "x # y" # caption', []),
        ('title = "t"', []),
        ('# lr: §1\nset = { "train.lr" = 1, "run.rounds" = 2 }', ["line 2: set (rounds)"]),
        ('# lr, rounds: §1\nset = { "train.lr" = 1, "run.rounds" = 2 }', []),
        ('set = { "model" = { name = "dnn" } } # §1', []),
        ('set = { "data.name" = "a", "data.mean" = [] } # mean: §1', ["line 1: set (data)"]),
        ('[p.axes.m]\n# lam: §1\na = { method = { name = "x", lam = 1 } }\nb = {}', []),
        ("[p.axes.m]\n# lam: §1\na = { lam = 1 }\nb = { mu = 1 }", ["line 4: b (mu)"]),
        ("# lam: §1\n[p.axes.m]\na = { lam = 1 }\nb = { lam = 2 }", []),
        ("[p.axes.m]\n# lam: §1\na = { lam = 1 }\n[p.axes.n]\nname = { lam = 1 }", None),
        ('small = { "run.rounds" = 1 }', ["line 1: small (small)"]),
        ('# ours\nsmall = { "run.rounds" = 1, "train.lr" = 2 }', []),
        ("flagged = [\n    { says = 1 },\n]\nlr = 1", ["line 4: lr (lr)"]),
    ],
)
def test_where_a_source_is_looked_for(text: str, lacking: list[str] | None) -> None:
    found = unsourced(text, TOLD)
    assert found == (["line 5: name (lam)"] if lacking is None else lacking)
