"""docs/keys.md, the page of every key of an experiment file: ``python -m website.spec_page``."""

import textwrap
from inspect import signature
from typing import Any

from fedkin.cli.listing.text import beginning
from fedkin.data.named_sets import SOURCES
from fedkin.data.partitions.registry import PARTITIONS, parameters
from fedkin.models.build import FROM_DATA, MODELS
from fedkin.runs.usual_names import USUAL_NAMES
from fedkin.transforms.registry import TRANSFORMS
from website.markdown import table
from website.spec_keys import Key, check_examples, every_key, sections, toml
from website.staging import ROOT

PAGE = ROOT / "docs" / "keys.md"
INTRODUCTION = """\
# Experiment file

After this page you can write any key of `experiment.toml`: what it takes, what it is when you leave
it out, and an example. `python -m website.spec_page` writes the page from the specification's own
classes, and the parser reads every example.

The same keys are reached in three ways. A section or a key that is left out has its default.

| where | as |
|---|---|
| a file | `[train]`, and below it `optimizer = "adam"` |
| the command line | `--set train.optimizer=adam` |
| Python | `Experiment(train__optimizer="adam")`, or `**{"train.optimizer": "adam"}` |

A whole file with comments: [README](../README.md#an-experiment-as-a-file)."""
MORE = {  # section → the pages that explain it
    "data": "[your own data](own_data.md), [named sets](data.md#sources), [scale](data.md#scale)",
    "split": "[partitions](data.md#partitions), [rows that must stay "
    "together](data.md#rows-that-must-stay-together)",
    "public": "[public sets](data.md#public-sets)",
    "model": "[models](models.md)",
    "method": "[the methods](methods/README.md), [no client worse than alone](safe.md)",
    "engine": "[where clients work](performance.md)",
    "run": "[evaluation](evaluation.md), [measures](measures.md), [new clients](join.md)",
    "privacy": "[differential privacy](privacy.md#differential-privacy), [secure "
    "aggregation](privacy.md#secure-aggregation)",
    "audit": "[an audit](privacy.md#an-audit)",
}


def text() -> str:
    """The page."""
    check_examples()
    lines = [INTRODUCTION, ""]
    for name, said in sections().items():
        lines += [f"## [{name}]", "", *_said(said, MORE.get(name)), ""]
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
        further = FURTHER.get(name, list)()
        lines += ["", *further, *([""] if further else [])]
    lines += [*_transforms(), ""]
    lines += ["## Names of other libraries", "", "These are taken too, with a hint at ours.", ""]
    lines += table(
        ["other name", "here"], [[f"`{name}`", f"`{ours}`"] for name, ours in USUAL_NAMES.items()]
    )
    return "\n".join([*lines, ""])


def _said(said: str, more: str | None) -> list[str]:
    """What a section is for, and the pages that explain it."""
    lines = _wrapped(said[:1].upper() + said[1:].replace("``", "`"))
    return lines if more is None else [*lines, "", *_wrapped(f"More: {more}.")]


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def _example(key: Key) -> str:
    """What a file may say."""
    return f"`{key.name} = {toml(key.example)}`"


def _data() -> list[str]:
    rows = [
        [f"`{name}`", beginning(reader), _values(_own(reader, {"dir"}))]
        for name, reader in SOURCES.items()
    ]
    return [
        *_wrapped(
            "Keys that only tables, pictures or LEAF's files have (`drop`, `categorical`, `shape`, "
            "…) are in [your own data](own_data.md#what-can-be-read). Beside your own files, "
            "`data.name` may name:"
        ),
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
    return _wrapped(
        "Further keys are the method's own: `fedkin methods NAME` lists them, and [its "
        "page](methods/README.md) says what they mean."
    )


def _transforms() -> list[str]:
    """The section that may stand there several times."""
    rows = [
        [f"`{name}`", beginning(one.make), _values(_own(one.make, set()))]
        for name, one in TRANSFORMS.items()
    ]
    return [
        "## [[transforms]]",
        "",
        "What is put around the method, in this order. Each entry has a name, and further keys.",
        "",
        "More: [a transform](privacy.md#a-transform).",
        "",
        *table(["name", "what it does", "further keys"], rows),
    ]


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


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
