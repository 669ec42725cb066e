"""Every key of an experiment file, from the specification's own classes."""

import ast
import inspect
import io
import json
import re
import textwrap
import tokenize
from typing import Any, NamedTuple

from pydantic import BaseModel

from fedkin.runs.spec import Spec, parse

# What a key may be set to, where its default is nothing to learn from. Read by the real parser.
EXAMPLES: dict[str, Any] = {
    "data.dir": "data",
    "data.mean": [0.1307],
    "data.std": [0.3081],
    "data.client": "hospital",
    "data.label": "outcome",
    "split.group": "bout",
    "public.source": "held-out",
    "public.samples": 500,
    "model.map": {"large": "dnn", "small": "mlr"},
    "model.shares": [1.0, 3.0],
    "model.column": "device",
    "train.clip": 1.0,
    "train.steps": 20,
    "train.epochs": 2,
    "train.milestones": [50, 80],
    "engine.workers": 4,
    "engine.block": 16,
    "run.clients": 40,
    "run.out": "runs/first",
    "run.holdout_clients": 0.2,
    "model.head": "layers.3",
    "privacy.noise": {"epsilon": 8, "delta": 1e-5},
    "privacy.clip": 1.0,
    "privacy.delta": 1e-5,
    "privacy.budget": 8.0,
    "privacy.secure_aggregation": {"threshold": 7},
}


NOISED = {"clip": 1.0, "noise": 1.0, "delta": 1e-5}
BESIDE = {  # what an example needs beside it
    "privacy.noise": {"clip": 1.0},
    "privacy.clip": NOISED,
    "privacy.delta": NOISED,
    "privacy.budget": NOISED,
}
COMMENT = re.compile(r"\s*#")  # a line that is nothing else


class Key(NamedTuple):
    """One key: where it stands, what it takes, what it is without being set."""

    section: str
    name: str
    type: str
    default: Any
    meaning: str
    least: Any = None  # a value that its type allows, where the default is none

    @property
    def path(self) -> str:
        """``section.key``, as ``--set`` takes it."""
        return f"{self.section}.{self.name}"

    @property
    def example(self) -> Any:
        """A value that the parser takes."""
        return EXAMPLES.get(self.path, self.least if self.default is None else self.default)


def every_key() -> list[Key]:
    """Every key of every section, in the order of the classes."""
    schema = Spec.model_json_schema()
    found = []
    for section, model in _models().items():
        said = comments(model)
        properties = schema["$defs"][model.__name__]["properties"]
        for name, declared in model.model_fields.items():
            shape = properties[name]
            meaning = declared.description or said.get(name, "")
            takes, default = _type(shape, schema), shape.get("default")
            found.append(Key(section, name, takes, default, meaning, _least(shape)))
    return found


def sections() -> dict[str, str]:
    """What each section is for, in its class's words."""
    found = {}
    for name, model in _models().items():
        told = " ".join((inspect.getdoc(model) or "").split())
        found[name] = told.removeprefix(f"[{name}] ")
    return found


def _models() -> dict[str, Any]:
    """The sections that are one table each; of a list of tables the keys are its items' own."""
    annotations = {name: field.annotation for name, field in Spec.model_fields.items()}
    return {
        name: kind
        for name, kind in annotations.items()
        if inspect.isclass(kind) and issubclass(kind, BaseModel)
    }


def comments(model: type[BaseModel]) -> dict[str, str]:
    """The comments beside the fields of a class and right above them, by field."""
    text = textwrap.dedent(inspect.getsource(model))
    beside = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.ClassDef)
    whole = {number for number, line in enumerate(text.splitlines(), 1) if COMMENT.match(line)}
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            first = statement.lineno
            while first - 1 in whole:
                first -= 1
            lines = range(first, (statement.end_lineno or statement.lineno) + 1)
            found[statement.target.id] = " ".join(beside[n] for n in lines if n in beside)
    return found


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)


def check_examples() -> None:
    """Every example is taken by the parser. Raises FedkinError where one is not."""
    for key in every_key():
        if key.example is not None:
            section = {**BESIDE.get(key.path, {}), key.name: key.example}
            parse({key.section: section}, where=f"example of {key.path}")


def _least(shape: dict[str, Any]) -> Any:
    """A number that the schema allows, None where it takes none."""
    for one in shape.get("anyOf", [shape]):
        if one.get("type") in ("integer", "number"):
            return max(1, one.get("minimum", 1))
    return None


def _type(shape: dict[str, Any], schema: dict[str, Any]) -> str:
    """A JSON schema in words."""
    if "$ref" in shape:
        return _type(schema["$defs"][shape["$ref"].rpartition("/")[2]], schema)
    if either := shape.get("anyOf"):
        kinds = [_type(one, schema) for one in either if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in shape:
        return " | ".join(f'"{one}"' for one in shape["enum"])
    if "const" in shape:
        return f'"{shape["const"]}"'
    kind = shape.get("type")
    if kind == "array":
        inner = shape.get("items") or (shape.get("prefixItems") or [{}])[0]
        return f"list of {_type(inner, schema)}"
    if kind == "object":
        return "table"
    words = {
        "number": "number",
        "integer": "whole number",
        "string": "text",
        "boolean": "yes/no",
    }
    bounds = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
    }
    limits = [
        f"{sign} {shape[name]:g}"
        for name, sign in bounds.items()
        if name in shape and abs(shape[name]) < 2**53
    ]
    return " ".join([words.get(str(kind), str(kind)), ", ".join(limits)]).strip()
