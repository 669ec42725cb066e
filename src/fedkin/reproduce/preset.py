"""A preset: one table or figure of a paper, as rows that can be run. Presets are TOML files in
``presets``.

A file holds presets by name. A preset has ``title``, ``about``, and ``groups`` of rows (or
``rows_of``: the groups of another preset, with ``values``, ``only`` and ``charts`` of its own). A
group is a base ``spec`` with ``set`` and the product of its ``axes``; an option of an axis is what
it changes. What several groups share stands once, in the preset's ``common``; where a group has a
key or an axis of its own, that counts. ``values`` say what is measured, and in which ``column`` of
the ``published`` file it stands; the line there is the one that fits ``where`` (a value may have a
``where`` of its own). Column and where may have {axis} in them: the name of the row's option.

A preset of ``rows_of`` with ``set`` runs those rows anew with these changes, under names that begin
with ``prefix``. ``flagged``: what is wrong with the published numbers themselves: ``says``, the
``numbers`` it is about, or words in the names of the ``rows`` that show them. A preset has those
of the other that its rows or its numbers are of (``rows_of``, ``flags_of``) and its own.
"""

import csv
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, unknown
from fedkin.runs.spec import assign

Content = dict[str, Any]
SCALES = ("full", "small")


class Value(NamedTuple):
    """One number of a row: how it is measured (``measures.MEASURES``), and what was published; None
    where nothing.
    """

    measure: str
    published: float | str | None


class Row(NamedTuple):
    """One setting.

    ``changes``: of the base specification, in order; ``runner``: see ``running.RUNNERS``.
    """

    name: str
    spec: str
    changes: Content
    values: tuple[Value, ...]
    runner: str
    options: dict[str, str]


class Flag(NamedTuple):
    """Published numbers that cannot be right. ``numbers`` and ``rows`` (words in their names) tell
    where they are shown; with neither, wherever the preset is.
    """

    says: str
    numbers: tuple[float, ...] = ()
    rows: tuple[str, ...] = ()


class Preset(NamedTuple):
    """``charts``: names of the report's charts that the page shows of each row. ``flagged``: what
    is wrong with the published numbers that its rows show.
    """

    name: str
    title: str
    about: str
    charts: tuple[str, ...]
    rows: tuple[Row, ...]
    flagged: tuple[Flag, ...] = ()


def names() -> list[str]:
    """All presets, in the order of their papers.

    Returns:
        Keys for ``preset``.
    """
    return list(_files())


def preset(name: str, scale: str = "small") -> Preset:
    """A preset with its rows at a scale.

    Args:
        name: One of ``names``.
        scale: "small" or "full".

    Returns:
        Title, charts, flags and rows, in the order of the file.

    Raises:
        FedkinError: The name does not exist.
    """
    presets = _files()
    if name not in presets:
        raise unknown("preset", name, presets)
    content = presets[name]
    other = presets[content["rows_of"]] if "rows_of" in content else content
    rows = [
        row
        for group in other["groups"]
        for row in _rows(_again(group, content), content.get("values"), scale)
    ]
    only = content.get("only", {})
    kept = tuple(
        row for row in rows if all(row.options.get(axis) in wanted for axis, wanted in only.items())
    )
    source = other if other is not content else presets.get(content.get("flags_of", ""), {})
    flags = [*source.get("flagged", ()), *content.get("flagged", ())]
    return Preset(
        name,
        content["title"],
        content.get("about", ""),
        tuple(content.get("charts", ())),
        kept,
        tuple(flag for flag in map(_flag, flags) if _shown(flag, kept)),
    )


def _flag(content: Content) -> Flag:
    """As its file has it."""
    rows = tuple(content.get("rows", ()))
    return Flag(content["says"], tuple(map(float, content.get("numbers", ()))), rows)


def contains(row: Row, words: str | None) -> bool:
    """Whether the row's name contains one of these words.

    Args:
        row: One of a preset.
        words: Separated by commas; None or "": every row is meant.

    Returns:
        True for every row where no word is given.
    """
    wanted = [word.strip() for word in words.split(",") if word.strip()] if words else [""]
    return any(word in row.name for word in wanted)


def _shown(flag: Flag, rows: tuple[Row, ...]) -> bool:
    """Whether rows show what the flag is about."""
    if not flag.numbers and not flag.rows:
        return True
    numbers = {value.published for row in rows for value in row.values}
    named = any(word in row.name for row in rows for word in flag.rows)
    return named or not numbers.isdisjoint(flag.numbers)


def content_of(row: Row) -> Content:
    """The row's specification.

    Args:
        row: Of a preset.

    Returns:
        {section: {key: value}}, as TOML has them.
    """
    content: Content = tomllib.loads(_text("specs", f"{row.spec}.toml"))
    for key, value in deepcopy(row.changes).items():  # its tables are those of all its group's rows
        if "." in key:
            assign(content, key, value)
        else:
            content[key] = value
    return content


def _again(group: Mapping[str, Any], content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A group of another preset as this one runs it."""
    if "set" not in content:
        return group
    return {**group, "name": content["prefix"], "set": {**group.get("set", {}), **content["set"]}}


def _rows(group: Mapping[str, Any], values: list[Content] | None, scale: str) -> list[Row]:
    axes: dict[str, dict[str, Content]] = group.get("axes", {})
    rows = []
    for options in product(*(axis.items() for axis in axes.values())):
        chosen = {axis: name for axis, (name, _) in zip(axes, options, strict=True)}
        changes: Content = dict(group.get("set", {}))
        for _, option in options:
            changes.update(option)
        line = _line(group, chosen, {})
        for key, column in group.get("take", {}).items():
            if line.get(column):
                changes[key] = float(line[column]) if "." in line[column] else int(line[column])
        changes.update(group.get(scale, {}))
        name = "-".join([group["name"], *chosen.values()]) + (
            "" if scale == "full" else f"-{scale}"
        )
        wanted = values if values is not None else group["values"]
        row_values = tuple(
            Value(
                v["measure"],
                _published(
                    _line(group, chosen, v.get("where", {})), v.get("column", "").format(**chosen)
                ),
            )
            for v in wanted
        )
        rows.append(
            Row(
                name,
                group.get("spec", ""),
                changes,
                row_values,
                group.get("runner", "experiment"),
                chosen,
            )
        )
    return rows


def _line(
    group: Mapping[str, Any], chosen: Mapping[str, str], of_value: Mapping[str, str]
) -> dict[str, str]:
    """The published line that fits; {} where there is none. ``of_value``: what a value asks for
    beside its group.
    """
    if "published" not in group:
        return {}
    asked = {**group.get("where", {}), **of_value}
    where = {column: value.format(**chosen) for column, value in asked.items()}
    fits = (
        line
        for line in published(group["published"])
        if all(line[c] == v for c, v in where.items())
    )
    return next(fits, {})


def _published(line: Mapping[str, str], column: str) -> float | str | None:
    text = line.get(column) or None
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def packaged(file: Path) -> Path:
    """``examples/papers/NAME.toml``, which commands on pages name, where there is no such file:
    fedkin's own copy.

    Args:
        file: The path of an experiment, as it was typed.

    Returns:
        The same path, or that of fedkin's copy.
    """
    if file.exists() or file.parts[-3:-1] != ("examples", "papers"):
        return file
    file_here = resources.files("fedkin.reproduce").joinpath("specs", file.name)
    return Path(str(file_here)) if file_here.is_file() else file


@cache
def published(name: str) -> list[dict[str, str]]:
    """The lines of a file of published numbers; what they are stands in its first lines.

    Args:
        name: Of the file, without its ending.

    Returns:
        {column: text} a line.
    """
    lines = _text("published", f"{name}.csv").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


@cache
def _files() -> dict[str, Content]:
    presets: dict[str, Content] = {}
    for path in sorted(
        resources.files("fedkin.reproduce").joinpath("presets").iterdir(), key=lambda p: p.name
    ):
        for name, content in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in presets:
                raise FedkinError(f"{path.name}: preset {name!r} is there twice")
            presets[name] = _whole(content)
    return presets


def _whole(content: Content) -> Content:
    """A preset whose groups say everything themselves."""
    if "groups" not in content:
        return content
    common = content.pop("common", {})
    axes = common.get("axes", {})  # they come first in a row's name
    groups = [
        {**common, **group, "axes": {**axes, **group.get("axes", {})}}
        for group in content["groups"]
    ]
    return {**content, "groups": groups}


def _text(folder: str, name: str) -> str:
    return resources.files("fedkin.reproduce").joinpath(folder, name).read_text(encoding="utf-8")
