"""The JSON Schema of what a command prints, from examples of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
# keys whose objects hold anything, by names that users, methods or data choose
FREE = {
    "hyper", "split_parameters", "parameters", "hyper_parameters", "spec", "fix", "likely_clients",
    "notes", "extras", "closed form", "deviations", "golden", "law", "messages", "readings",
    "reference", "sources", "settings", "scalars", "place",
}  # fmt: skip
# keys of objects from a name (a view, a measure, a kind) to values of one form
MAPS = {
    "headline", "baselines", "accuracy", "loss", "measures", "scores", "by_kind", "personal",
    "global", "val", "test", "train",
}  # fmt: skip
OPEN = {"predictions", "trials", "best", "runs", "seeds"}  # records with columns of the data's own
CLOSED = {"privacy.runs"}  # but for these, by the path to them
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def of(examples: Sequence[Any], key: str = "") -> Schema:
    """A schema that holds of all the examples, and of as little more as can be said.

    Args:
        examples: What was printed, parsed.
        key: The keys that lead to them, with points between.

    Returns:
        A JSON Schema.
    """
    objects = [one for one in examples if isinstance(one, Mapping)]
    lists = [one for one in examples if isinstance(one, list)]
    types = {TYPES[type(one)] for one in examples if type(one) in TYPES}
    if "number" in types:
        types.discard("integer")
    types |= {"null"} if types & {"integer", "number"} else set()  # not finite, or not taken
    found: list[Schema] = [{"type": name} for name in sorted(types)]
    found += [_object(objects, key)] if objects else []
    found += [_list(lists, key)] if lists else []
    if len(found) == 1:
        return found[0]
    if all(set(one) == {"type"} for one in found):
        return {"type": [one["type"] for one in found]}
    return {"anyOf": found} if found else {}


def _object(examples: list[Mapping[str, Any]], key: str) -> Schema:
    values = [value for one in examples for value in one.values()]
    last = key.rpartition(".")[2]
    if last in FREE:
        return {"type": "object"}
    if last in MAPS and values and all(isinstance(value, Mapping) for value in values):
        return {"type": "object", "additionalProperties": of(values, "")}
    names = list(dict.fromkeys(name for one in examples for name in one))
    return {
        "type": "object",
        "properties": {
            name: of(
                [one[name] for one in examples if name in one], f"{key}.{name}" if key else name
            )
            for name in names
        },
        "required": [name for name in names if all(name in one for one in examples)],
        "additionalProperties": last in OPEN and key not in CLOSED,
    }


def _list(examples: list[list[Any]], key: str) -> Schema:
    items = [item for one in examples for item in one]
    return {"type": "array", "items": of(items, key)} if items else {"type": "array"}


def rows(schema: Schema, path: str = "") -> Iterable[tuple[str, str]]:
    """What a page shows of a schema: (path, type); a list adds [], any name is shown as NAME.

    Args:
        schema: As ``of`` makes it.
        path: Where it stands.

    Yields:
        A row for each value.
    """
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from rows(one, path)
        return
    type_ = schema.get("type", "any")
    yield path or "(whole)", " or ".join(type_) if isinstance(type_, list) else type_
    for name, inner in schema.get("properties", {}).items():
        yield from rows(inner, f"{path}.{name}" if path else name)
    if isinstance(more := schema.get("additionalProperties"), Mapping):
        yield from rows(more, f"{path}.NAME")
    if "items" in schema:
        yield from rows(schema["items"], f"{path}[]")
