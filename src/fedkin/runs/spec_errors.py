"""What is wrong in a specification, in one sentence: where, and the nearest valid choice."""

import re
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fedkin.core.errors import cut, letters, near
from fedkin.core.system.nearest import closest

ELSEWHERE = {  # keys that people look for, and where it is said
    "privacy.epsilon": "a target stands in noise = { epsilon = 8, delta = 1e-5 }",
}


def explained(error: ValidationError, text: str, whole: BaseModel) -> str:
    """The first mistake, in words for the person who wrote it.

    Args:
        error: What pydantic found.
        text: The TOML source, to name the line; "" where there is none.
        whole: A specification, whose fields are the sections.

    Returns:
        A clause to put behind the file's name.
    """
    first, a_list = _first(error)
    # the alternative of a union has brackets
    path = [str(part) for part in first["loc"] if "[" not in str(part)]
    key = ".".join(path)
    # an item of a list stands in its key's line
    line = _line_of(text, path) or _line_of(text, path[:2])
    at = f" (line {line})" if line else ""
    value = first.get("input")
    if first["type"] == "extra_forbidden":
        if key in ELSEWHERE:
            return f"unknown key {key!r}{at}: {ELSEWHERE[key]}"
        if len(path) == 1 and (meant := keys_called(key, whole)):
            return f"unknown key {cut(key)!r}{at}: did you mean {' or '.join(map(repr, meant))}?"
        choices = _choices(path, whole)
        return (
            f"unknown key {cut(key)!r}{at}{_nearest(path[-1], choices)} (choices: "
            f"{', '.join(sorted(choices))})"
        )
    if path and path[0] == "transforms":
        return _explain_transform(path, at)
    if first["type"] == "model_type" and path[0] in type(whole).model_fields:
        return f"{key}{at} is a section: write {key}.{_choices([key, ''], whole)[0]} = {value!r}"
    if first["type"] == "literal_error":
        choices = _literals(path, whole)
        return (
            f"{key}{at}: unknown value {cut(repr(value))}{_nearest(value, choices)} "
            f"(choices: {', '.join(choices)}{a_list})"
        )
    reason = first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
    shown = "" if isinstance(value, (dict, BaseModel)) else f", not {cut(repr(value))}"
    return f"{key or 'specification'}{at}: {reason[0].lower()}{reason[1:]}{shown}{closest(first)}"


def keys_called(name: str, whole: BaseModel) -> list[str]:
    """The keys of all sections that somebody may mean who names none.

    Args:
        name: Such as "Optimizer".
        whole: A specification, whose fields are the sections.

    Returns:
        Such as ["train.optimizer", "server.optimizer"], in the order of the sections; [] where no
        section has the key.
    """
    sections = ((one, getattr(whole, one)) for one in type(whole).model_fields)
    return [
        f"{section}.{key}"
        for section, value in sections
        if isinstance(value, BaseModel)
        for key in type(value).model_fields
        if letters(key) == letters(name)
    ]


def _first(error: ValidationError) -> tuple[ErrorDetails, str]:
    """The first mistake; of a key that takes words or a list, the one of the kind that was given,
    and words for the list.
    """
    first, *others = error.errors()
    lists = [one for one in others if one["loc"][:2] == first["loc"][:2]]
    if first["type"] != "literal_error" or not lists:
        return first, ""
    value = first["input"]
    if isinstance(value, (list, tuple)):
        return lists[0], ""
    any_length = "..." in str(lists[0]["loc"][-1])
    such = f", such as [{value}]" if any_length and isinstance(value, (int, float)) else ""
    return first, f"; or a list of numbers{such}" if lists[0]["type"] == "tuple_type" else ""


def _explain_transform(path: list[str], at: str) -> str:
    """A mistake in the list: which of them it is, counted from 1."""
    which = f"transforms, number {int(path[1]) + 1}" if len(path) > 1 else "transforms"
    if path[2:] == ["name"]:
        return f'{which}{at}: it needs a name, such as name = "median"'
    return f'{which}{at}: write [[transforms]], below it name = "median" and its parameters'


def _nearest(value: Any, choices: list[str]) -> str:
    return near(str(value), choices)


def _literals(path: list[str], whole: BaseModel) -> list[str]:
    annotation = type(getattr(whole, path[0])).model_fields[path[1]].annotation
    kinds = [annotation] if get_origin(annotation) is Literal else get_args(annotation)
    return [
        str(choice) for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)
    ]


def _choices(path: list[str], whole: BaseModel) -> list[str]:
    return list((type(whole) if len(path) == 1 else type(getattr(whole, path[0]))).model_fields)


def _line_of(text: str, path: list[str]) -> int | None:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := re.match(r"\s*\[([^\]]+)\]", line):
            section = heading[1].strip()
            if [section] == path:
                return number
        elif re.match(rf"\s*[\"']?{re.escape(path[-1])}[\"']?\s*=", line) and section == ".".join(
            path[:-1]
        ):
            return number
    return None
