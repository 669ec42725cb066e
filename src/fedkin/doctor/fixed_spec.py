"""The specification that ``fedkin data check --fix`` and ``fedkin init`` write: every fix, with
its reason beside it.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedkin.data.quality.problem import toml_key, toml_literal
from fedkin.runs.spec import Spec

WIDTH = 96


def fixed_spec(
    spec: Spec,
    problems: Sequence[Mapping[str, Any]],
    command: str,
    reasons: Mapping[str, str] = {},
    columns: Sequence[str] = (),
) -> str:
    """A TOML file: what was asked, then each fix under its reason.

    Args:
        spec: as it was asked for, without fixes.
        problems: ``Problem.plain`` of each. Those for a person to judge stand behind ``#``.
        command: what wrote the file.
        reasons: a sentence under the name of a section.
        columns: those that a list in the place of a table of columns is for.

    Returns:
        The text of the file.
    """
    content: dict[str, Any] = spec.model_dump(mode="json", exclude_unset=True)
    listed = {key: content.pop(key) for key in list(content) if isinstance(content[key], list)}
    sections: dict[str, dict[str, Any]] = {key: dict(value) for key, value in content.items()}
    sections.setdefault("data", {})
    for problem in problems:
        for key in problem["fix"]:
            sections.setdefault(key.split(".")[0], {})
    by_hand = [problem for problem in problems if not problem["fix"]]
    lines = [*_comment(f"Written by: {command}"), *_comment(_counted(problems))]
    for problem in by_hand:
        lines += _comment(f"By hand: {problem['sentence']}.", "  ")
    for section, section_content in sections.items():
        why = _comment(reasons[section]) if section in reasons else []
        lines += ["", f"[{section}]", *why, *_section(section, section_content, problems, columns)]
    for name, entries in listed.items():
        for section_content in entries:
            lines += ["", f"[[{name}]]", *_section(name, section_content, [], ())]
    return "\n".join(lines) + "\n"


def _counted(problems: Sequence[Mapping[str, Any]]) -> str:
    fixes = [problem for problem in problems if problem["fix"]]
    sure = sum(problem["sure"] for problem in fixes)
    if not problems:
        return "Nothing was found that needs fixing."
    return (
        f"{len(problems)} found: {sure} fixed below, {len(fixes) - sure} proposed behind a "
        "#, for a person to judge, "
        f"{len(problems) - len(fixes)} by hand."
    )


def _section(
    section: str,
    content: Mapping[str, Any],
    problems: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
) -> Iterator[str]:
    fixes: dict[str, list[tuple[Any, str, bool]]] = {}
    for problem in problems:
        for key, value in problem["fix"].items():
            of, _, last = key.partition(".")
            if of == section:
                fixes.setdefault(last, []).append(
                    (value, f"{problem['says']}: {problem['why']}.", problem["sure"])
                )
    tables = {key for key, fixes_of_key in fixes.items() if isinstance(fixes_of_key[0][0], Mapping)}
    for key, value in content.items():
        if key not in fixes:
            yield f"{key} = {toml_literal(value)}"
    for key, fixes_of_key in fixes.items():
        if key not in tables:
            yield from _key(key, content.get(key), fixes_of_key)
    for key in sorted(tables):
        yield from ["", f"[{section}.{key}]"]
        before = _by_column(content.get(key), columns)
        mended = {name for value, _, sure in fixes[key] if sure for name in value}
        for column, cells in before.items():
            if column not in mended:  # a key may be there once
                yield f"{toml_key(column)} = {toml_literal(cells)}"
        for value, reason, sure in fixes[key]:
            yield from _comment(reason)
            for name, of in value.items():
                both = [
                    *before.get(name, []),
                    *(one for one in of if one not in before.get(name, [])),
                ]
                yield f"{'' if sure else '# '}{toml_key(name)} = {toml_literal(both)}"


def _by_column(setting: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Column → what was said of it; a list was said of all."""
    if isinstance(setting, Mapping):
        return {name: list(cells) for name, cells in setting.items()}
    listed = list(setting) if isinstance(setting, list | tuple) else []
    return {name: list(listed) for name in columns} if listed else {}


def _key(key: str, before_it: Any, fixes: Sequence[tuple[Any, str, bool]]) -> Iterator[str]:
    names = isinstance(fixes[0][0], list) and all(isinstance(one, str) for one in fixes[0][0])
    if not names:  # one value, or numbers that belong together: [height, width]
        value, reason, sure = fixes[-1]
        yield from _comment(reason)
        yield f"{'' if sure else '# '}{key} = {toml_literal(value)}"
        if not sure and before_it is not None:
            yield f"{key} = {toml_literal(before_it)}"
        return
    yield f"{key} = ["
    before = (
        before_it
        if isinstance(before_it, list | tuple)
        else []
        if before_it is None
        else [before_it]
    )
    yield from (f"    {toml_literal(item)}," for item in before)
    items = {toml_literal(item) for item in before}
    for value, reason, sure in fixes:
        for item in map(toml_literal, value):
            if item not in items:
                yield from _comment(reason, "    ")
                yield f"    {'' if sure else '# '}{item},"
            items |= {item} if sure else set()
    yield "]"


def _comment(text: str, indent: str = "") -> list[str]:
    # what a table holds may hold line breaks and other signs that no comment may
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return [f"{indent}# {line}" for line in textwrap.wrap(plain, WIDTH - len(indent)) or [""]]
