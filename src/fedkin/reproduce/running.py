"""Run the rows of a preset: one run a row and seed, resumed where it was stopped, not repeated where it is finished."""

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.data.theory import toy
from fedkin.experiment import resume, run
from fedkin.report.summary import summary
from fedkin.reproduce.measures import measured
from fedkin.reproduce.preset import Row, content_of
from fedkin.runs.spec import Spec, assign, parse


class Outcome(NamedTuple):
    """``numbers``: by measure, one a seed. ``missing``: why the row was not run. ``seconds``: taken, all seeds."""

    row: Row
    seeds: list[int]
    numbers: dict[str, list[float]]
    seconds: float
    folders: list[Path]
    missing: str = ""


def outcomes(rows: Sequence[Row], seeds: int, out: Path, changes: Mapping[str, Any]) -> Iterator[Outcome]:
    """The rows one after the other; what cannot be run (its data are not there) says why."""
    for row in rows:
        try:
            yield RUNNERS[row.runner](row, list(range(seeds)), out, changes)
        except FedkinError as error:
            yield Outcome(row, [], {}, 0.0, [], str(error))


def spec_of(row: Row, seed: int, changes: Mapping[str, Any]) -> Spec:
    """The specification of a row's run, checked."""
    content = content_of(row)
    for key, value in {**changes, "run.seed": seed}.items():
        assign(content, key, value)
    return parse(content, where=row.name)[0]


def command(row: Row, seed: int = 0, changes: Mapping[str, Any] | None = None) -> str:
    """The same run from the command line, in a checkout of fedkin."""
    if row.runner != "experiment":
        return "python examples/linear_toy.py"
    told = [f"fedkin run examples/papers/{row.spec}.toml"]
    for key, value in {**row.changes, **(changes or {}), **({"run.seed": seed} if seed else {})}.items():
        if isinstance(value, Mapping) and "." not in key:
            told.append(f"--{key} {value['name']}")
            told += [_setting(f"{key}.{inner}", v) for inner, v in value.items() if inner != "name"]
        else:
            told.append(_setting(key, value))
    return " ".join(told)


def _setting(key: str, value: Any) -> str:
    return f"--set {key}=" + shlex.quote(value if isinstance(value, str) else _toml(value))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value)


def _experiment(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    began = time.monotonic()
    folders = []
    for seed in seeds:
        folder = out / f"{row.name}-seed{seed}"
        if (folder / "run.db").exists():
            resume(folder)
            _same(folder, spec_of(row, seed, changes))
        else:
            run(spec_of(row, seed, changes), folder)
        folders.append(folder)
    names = [value.measure for value in row.values]
    each = [measured(folder, names) for folder in folders]
    numbers = {name: [float(v) for one in each if (v := one[name]) is not None] for name in names}
    spent = sum(float(summary(folder)["seconds"]["total"]) for folder in folders)
    return Outcome(row, seeds, numbers, max(spent, time.monotonic() - began), folders)


def _same(folder: Path, spec: Spec) -> None:
    """A finished run is taken for this row only if it was made of the same specification."""
    found = parse_file(folder / "experiment.toml")
    for section in ("data", "split", "public", "model", "method", "train", "run"):
        now, before = getattr(spec, section).model_dump(), getattr(found, section).model_dump()
        differ = [key for key in now if key in before and now[key] != before[key] and now[key] is not None]
        if section != "run":
            differ = [key for key in differ if before[key] is not None]
        if differ:
            raise FedkinError(f"{folder} is a run of another setting ({section}.{differ[0]}): choose another --out")


def parse_file(path: Path) -> Spec:
    """The specification that a run directory keeps."""
    from fedkin.runs.spec import read

    content, text = read(path)
    return parse(content, text, str(path))[0]


def _toy(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    """COMET's linear regression: in closed form, no run."""
    began = time.monotonic()
    method, client = row.options["method"], int(row.options["client"].removeprefix("client "))
    distances = [float(toy(seed).distances()[method][client]) for seed in seeds]
    return Outcome(row, seeds, {"distance to its truth": distances}, time.monotonic() - began, [])


RUNNERS: dict[str, Callable[[Row, list[int], Path, Mapping[str, Any]], Outcome]] = {
    "experiment": _experiment,
    "linear_toy": _toy,
}


def mean(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return float(np.mean(values)) if len(values) else None
