"""A row of a preset as a specification, and as a command line."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.reproduce.preset import Row, content_of
from fedkin.runs.spec import Spec, assign, parse


def check(rows: Sequence[Row], changes: Mapping[str, Any]) -> None:
    """Refuse changes that no row can have. Those that only some can have are named with the others.
    A row that is no run (COMET's toy, in closed form) has no keys: it says nothing of a change, and
    where all rows are such every change is refused.

    Args:
        rows: Of a preset.
        changes: {"section.key": value}.

    Raises:
        FedkinError: No row can have the changes, or they set the seed.
    """
    wrong: list[FedkinError] = []
    if "run.seed" in changes:
        raise FedkinError("run.seed: the seeds of a preset are 0, 1, …: --seeds says how many")
    runs = [row for row in rows if row.runner == "experiment"]
    if not runs and (key := next(iter(portable(changes)), None)):
        raise FedkinError(f"--set {key}: these rows are computed in closed form and have no keys")
    for row in runs:
        try:
            spec_of(row, 0, changes)
            return
        except FedkinError as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]


def portable(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as a page shows them: where this machine has its data is left out.

    Args:
        changes: {"section.key": value}.

    Returns:
        A copy without "data.dir".
    """
    return {key: value for key, value in changes.items() if key != "data.dir"}


def spec_of(row: Row, seed: int, changes: Mapping[str, Any]) -> Spec:
    """The specification of a row's run, checked.

    Args:
        row: Of a preset.
        seed: Of the run.
        changes: {"section.key": value}.

    Returns:
        A checked specification with the changes and the seed.

    Raises:
        FedkinError: The row cannot have the changes.
    """
    content = content_of(row)
    for key, value in {**changes, "run.seed": seed}.items():
        assign(content, key, value)
    return parse(content, where=row.name)[0]


def same_persons(row: Row, changes: Mapping[str, Any]) -> bool:
    """Whether every seed has the same clients: all natural ones. Other splits deal the samples anew
    with each seed, and of natural clients of whom a number is asked for each seed draws others.

    Args:
        row: Of a preset.
        changes: {"section.key": value}.

    Returns:
        False of a row that is no run.
    """
    if row.runner != "experiment":
        return False
    spec = spec_of(row, 0, changes)
    return spec.split.name == "natural" and not spec.run.clients


def command(row: Row, seed: int = 0, changes: Mapping[str, Any] | None = None) -> str:
    """The same run from the command line, wherever fedkin is installed (``preset.packaged``).

    Args:
        row: Of a preset.
        seed: Of the run.
        changes: {"section.key": value}; None: there are none.

    Returns:
        What is typed in a shell.
    """
    if row.runner != "experiment":
        return f"fedkin reproduce comet-figure-2 --rows {shlex.quote(row.name)}"
    options: dict[str, str] = {}  # by key: of two settings of one option, the later one counts
    seeded = {"run.seed": seed} if seed else {}
    for key, value in {**row.changes, **(changes or {}), **seeded}.items():
        if isinstance(value, Mapping) and "." not in key:
            options[key] = f"--{key} {value['name']}"
            options |= {
                f"{key}.{inner}": _setting(f"{key}.{inner}", v)
                for inner, v in value.items()
                if inner != "name"
            }
        else:
            options[key] = _setting(key, value)
    return " ".join([f"fedkin run examples/papers/{row.spec}.toml", *options.values()])


def _setting(key: str, value: Any) -> str:
    return f"--set {key}=" + shlex.quote(value if isinstance(value, str) else _toml(value))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value)
