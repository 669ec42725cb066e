"""The reference page of experiment files."""

from inspect import signature
from typing import Any

from fedkin.cli.listing.text import beginning
from fedkin.data.named_sets import SOURCES
from fedkin.data.partitions.registry import PARTITIONS, parameters
from fedkin.models.build import FROM_DATA, MODELS
from fedkin.runs.usual_names import USUAL_NAMES
from website.markdown import table
from website.spec_keys import Key, check_examples, every_key, sections, toml

INTRODUCTION = """\
# Experiment file

After this page you can write any key of `experiment.toml`: what it takes, what it is when you leave
it out, and an example. This page is written from the specification's own classes, and
the parser reads every example. `fedkin run --set section.key=value` reaches the same keys."""


def page() -> dict[str, str]:
    """The page, by its place in the site."""
    check_examples()
    lines = [INTRODUCTION, ""]
    for name, said in sections().items():
        lines += [f"## [{name}]", "", said[:1].upper() + said[1:], ""]
        lines += table(
            ["key", "takes", "default", "meaning", "example"],
            [
                [
                    f"`{key.name}`",
                    key.type,
                    "none" if key.default is None else f"`{toml(key.default)}`",
                    key.meaning,
                    _example(key),
                ]
                for key in every_key()
                if key.section == name
            ],
        )
        lines += ["", *FURTHER.get(name, list)(), ""]
    lines += ["## Names of other libraries", "", "These are taken too, with a hint at ours.", ""]
    lines += table(
        ["other name", "here"], [[f"`{name}`", f"`{ours}`"] for name, ours in USUAL_NAMES.items()]
    )
    return {"reference/experiment-file.md": "\n".join([*lines, ""])}


def _example(key: Key) -> str:
    """What a file may say."""
    return f"`{key.name} = {toml(key.example)}`"


def _data() -> list[str]:
    rows = [
        [f"`{name}`", beginning(reader), _values(_own(reader, {"dir"}))]
        for name, reader in SOURCES.items()
    ]
    return [
        "Beside [your own files](../own_data.md), `data.name` may name these data sets:",
        "",
        *table(["data.name", "what it is", "further keys of [data]"], rows),
    ]


def _split() -> list[str]:
    rows = [
        [f"`{name}`", beginning(one), _values(parameters(name))] for name, one in PARTITIONS.items()
    ]
    return table(["split.name", "who holds what", "further keys of [split]"], rows)


def _model() -> list[str]:
    rows = [
        [f"`{name}`", beginning(make), _values(_own(make, set(FROM_DATA)))]
        for name, make in MODELS.items()
    ]
    return table(["model.name", "architecture", "further keys of [model]"], rows)


def _method() -> list[str]:
    return ["Further keys are the method's own: see [its page](../methods/README.md)."]


FURTHER = {"data": _data, "split": _split, "model": _model, "method": _method}


def _own(make: Any, given: set[str]) -> dict[str, Any]:
    return {
        name: one.default for name, one in signature(make).parameters.items() if name not in given
    }


def _values(found: dict[str, Any]) -> str:
    shown = {
        key: "" if not isinstance(value, bool | int | float | str | list | tuple) else toml(value)
        for key, value in found.items()
    }
    return ", ".join(f"`{key} = {value}`" if value else f"`{key}`" for key, value in shown.items())
