"""Run the rows of a preset: one run a row and seed, resumed where it was stopped, not repeated
where it is finished.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file, write_file
from fedkin.data.folder import data_folder
from fedkin.data.theory import toy
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.run_facts import hyper_of
from fedkin.experiment.training import Interrupted, Progress
from fedkin.report.summary import summary
from fedkin.reproduce.cost import FIRST, clocked, cost, processor
from fedkin.reproduce.estimate import Estimate, estimate
from fedkin.reproduce.kept import PLAIN, Keeping, Kept, digest
from fedkin.reproduce.measures import measured
from fedkin.reproduce.preset import Row, content_of
from fedkin.runs.database import read_only
from fedkin.runs.directory import SPEC, begun, recorded
from fedkin.runs.record import Record
from fedkin.runs.spec import Spec, assign, parse
from fedkin.setup.build import method_of
from fedkin.setup.population import rooted

# Beside a run's records: the settings that it was made of, before data filled them in
ASKED = "asked.json"
LARGEST = 16 << 20  # bytes of it
LEFT_TO_DATA = (
    None,
    "auto",
)  # values of a specification in whose place a run records what it came to


class Outcome(NamedTuple):
    """``numbers``: by measure, one a seed. ``missing``: why the row was not run. ``seconds``: of
    the processor, all seeds, those of earlier sessions too; None where that was not kept.
    ``estimated``: the same, known before. ``runs``: the finished ones, for others to take.
    ``taken``: the seeds that are from elsewhere.
    """

    row: Row
    seeds: list[int]
    numbers: dict[str, list[float]]
    seconds: float | None
    folders: list[Path]
    missing: str = ""
    estimated: Estimate = Estimate(0.0)
    command: str = ""
    runs: tuple[Kept, ...] = ()
    taken: tuple[int, ...] = ()


Runners = Mapping[str, Callable[[Row, list[int], Path, Mapping[str, Any]], Outcome]]


def outcomes(
    rows: Sequence[Row],
    seeds: int,
    out: Path,
    changes: Mapping[str, Any],
    speed: float = 1.0,
    runners: Runners | None = None,
    elsewhere: Keeping | None = None,
) -> Iterator[Outcome]:
    """The rows one after the other; what cannot be run (its data are not there) says why.

    ``speed``: of this machine, as ``estimate.speed`` measures it. ``runners``: RUNNERS, or READERS:
    they train nothing. ``elsewhere``: finished runs of other machines; one that is not begun here
    and has the same settings is taken.
    """
    for row in rows:
        try:
            taken = [
                one
                for seed in range(seeds)
                if (one := _taken(row, seed, out, changes, elsewhere or {}))
            ]
            rest = [seed for seed in range(seeds) if seed not in {one.seed for one in taken}]
            done = _joined(row, taken)
            if rest:
                done = _together(done, (runners or RUNNERS)[row.runner](row, rest, out, changes))
        except Interrupted:
            raise Interrupted(
                f"stopped in {row.name}: the same command goes on where it was"
            ) from None
        except FedkinError as error:
            done = Outcome(row, [], {}, None, [], _anywhere(str(error), out, changes))
        told = estimate(row, changes, speed, seeds)
        yield done._replace(estimated=told, command=command(row, 0, portable(changes)))


def known(
    row: Row,
    seeds: int,
    out: Path,
    changes: Mapping[str, Any],
    speed: float = 1.0,
    elsewhere: Keeping | None = None,
) -> Outcome:
    """A row that is not asked for, as it is there: with all the seeds that are finished. Trains
    nothing.
    """
    told = elsewhere or {}

    def over(seed: int) -> bool:
        return _over(out / f"{row.name}-seed{seed}") or (row.name, seed) in told

    there = sum(1 for _ in takewhile(over, count())) if row.runner == "experiment" else 0
    return next(outcomes([row], there or seeds, out, changes, speed, READERS, told))


def _taken(
    row: Row, seed: int, out: Path, changes: Mapping[str, Any], elsewhere: Keeping
) -> Kept | None:
    """A finished run of another machine in place of one here."""
    one = elsewhere.get((row.name, seed))
    if one is None or row.runner != "experiment" or begun(out / f"{row.name}-seed{seed}"):
        return None
    whole = {value.measure for value in row.values} <= set(one.numbers)
    return one if whole and one.settings == _digest(spec_of(row, seed, changes)) else None


def _joined(row: Row, taken: Sequence[Kept]) -> Outcome:
    names = [value.measure for value in row.values]
    numbers = {name: [v for one in taken if (v := one.numbers[name]) is not None] for name in names}
    seconds = [one.seconds for one in taken if one.seconds is not None]
    spent = sum(seconds) if len(seconds) == len(taken) else None
    seeds = [one.seed for one in taken]
    return Outcome(row, seeds, numbers, spent, [], runs=tuple(taken), taken=tuple(seeds))


def _together(taken: Outcome, here: Outcome) -> Outcome:
    if not taken.seeds:
        return here
    spent = None if taken.seconds is None or here.seconds is None else taken.seconds + here.seconds
    return here._replace(
        seeds=sorted([*taken.seeds, *here.seeds]),
        numbers={name: [*taken.numbers[name], *values] for name, values in here.numbers.items()},
        seconds=spent,
        runs=tuple(sorted([*taken.runs, *here.runs], key=lambda one: one.seed)),
        taken=taken.taken,
    )


def _over(folder: Path) -> bool:
    """Whether a run is finished; cheap, for a page asks it of every row."""
    try:
        with read_only(folder) as database:
            return database.facts().get("finished") is True
    except FedkinError:
        return False


def check(rows: Sequence[Row], changes: Mapping[str, Any]) -> None:
    """Raises FedkinError for changes that no row can have; those that only some can have are told
    with the others.
    """
    wrong: list[FedkinError] = []
    if "run.seed" in changes:
        raise FedkinError("run.seed: the seeds of a preset are 0, 1, …: --seeds says how many")
    for row in rows:
        try:
            if row.runner == "experiment":
                spec_of(row, 0, changes)
            return
        except FedkinError as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]


def portable(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as they are told on a page: where this machine has its data is left out."""
    return {key: value for key, value in changes.items() if key != "data.dir"}


def _anywhere(text: str, out: Path, changes: Mapping[str, Any]) -> str:
    """A message without this machine's folders, for a page that is read elsewhere."""
    where = data_folder(changes.get("data.dir"))
    return text.replace(f" in {where}", "").replace(f"{out}{os.sep}", "")


def spec_of(row: Row, seed: int, changes: Mapping[str, Any]) -> Spec:
    """The specification of a row's run, checked."""
    content = content_of(row)
    for key, value in {**changes, "run.seed": seed}.items():
        assign(content, key, value)
    return parse(content, where=row.name)[0]


def command(row: Row, seed: int = 0, changes: Mapping[str, Any] | None = None) -> str:
    """The same run from the command line, wherever fedkin is installed (``preset.packaged``)."""
    if row.runner != "experiment":
        return f"fedkin reproduce comet-figure-2 --rows {shlex.quote(row.name)}"
    told: dict[str, str] = {}  # by key: of two settings of one option, the later one counts
    for key, value in {
        **row.changes,
        **(changes or {}),
        **({"run.seed": seed} if seed else {}),
    }.items():
        if isinstance(value, Mapping) and "." not in key:
            told[key] = f"--{key} {value['name']}"
            told |= {
                f"{key}.{inner}": _setting(f"{key}.{inner}", v)
                for inner, v in value.items()
                if inner != "name"
            }
        else:
            told[key] = _setting(key, value)
    return " ".join([f"fedkin run examples/papers/{row.spec}.toml", *told.values()])


def _setting(key: str, value: Any) -> str:
    return f"--set {key}=" + shlex.quote(value if isinstance(value, str) else _toml(value))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value)


def _folders(row: Row, seeds: list[int], out: Path) -> list[Path]:
    return [out / f"{row.name}-seed{seed}" for seed in seeds]


def _experiment(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    folders = _folders(row, seeds, out)
    for seed, folder in zip(seeds, folders, strict=True):
        spec = spec_of(row, seed, changes)
        if begun(folder):
            _same(folder, spec)
            clocked(folder, partial(_resumed, folder))
        else:
            clocked(folder, partial(_begun, spec, folder))
    return _outcome(row, seeds, folders, changes)


def _finished(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    """The same where it is finished; trains nothing."""
    folders = _folders(row, seeds, out)
    for seed, folder in zip(seeds, folders, strict=True):
        if not recorded(folder):
            raise FedkinError("not run yet")
        _same(folder, spec_of(row, seed, changes))
        if not summary(folder)["finished"]:
            raise FedkinError("begun, not finished")
    return _outcome(row, seeds, folders, changes)


def _outcome(
    row: Row, seeds: list[int], folders: list[Path], changes: Mapping[str, Any]
) -> Outcome:
    names = [value.measure for value in row.values]
    each = [measured(folder, names) for folder in folders]
    numbers = {name: [float(v) for one in each if (v := one[name]) is not None] for name in names}
    spent = [found.total for folder in folders if (found := cost(folder)) is not None]
    runs = tuple(
        _run(row, seed, spec_of(row, seed, changes), folder, told)
        for seed, folder, told in zip(seeds, folders, each, strict=True)
    )
    return Outcome(
        row, seeds, numbers, sum(spent) if len(spent) == len(folders) else None, folders, runs=runs
    )


def _digest(spec: Spec) -> str:
    """Of what a run of this specification would be."""
    return digest(_settings(spec), hyper_of(method_of(spec)))


def _run(
    row: Row, seed: int, spec: Spec, folder: Path, numbers: Mapping[str, float | None]
) -> Kept:
    """A finished run, for others to take."""
    with read_only(folder) as database:
        facts = database.facts()
    settings = digest(_settings(spec), facts.get("hyper") or {})
    version = str((facts.get("versions") or {}).get("fedkin", ""))
    spent, fingerprint = cost(folder), str(facts.get("fingerprint") or "")
    return Kept(
        row.name,
        seed,
        dict(numbers),
        None if spent is None else spent.total,
        settings,
        fingerprint,
        version,
    )


def _begun(spec: Spec, folder: Path, progress: Progress) -> Path:
    def first(record: Record) -> None:
        if record.phase == FIRST:
            write_file(folder / ASKED, json.dumps(_settings(spec)).encode())
        progress(record)

    return run(spec, folder, progress=first)


def _resumed(folder: Path, progress: Progress) -> Path:
    return resume(folder, progress=progress)


def _same(folder: Path, spec: Spec) -> None:
    """A finished run is taken for this row only if it was made of the same specification."""
    now = _settings(spec)
    try:
        known = {key: PLAIN[key] for key in now if key in PLAIN}  # a setting may be newer than it
        before = {**known, **json.loads(read_file(folder / ASKED, LARGEST))}
        differ = [key for key in sorted({*now, *before}) if now.get(key) != before.get(key)]
    # made by hand, damaged, or killed at once: its own specification has the defaults filled in
    except (OSError, RecursionError, TypeError, ValueError):
        before = _settings(parse_file(folder / SPEC))
        fixed = (key for key in now if now[key] not in LEFT_TO_DATA and key in before)
        differ = [
            key
            for key in fixed
            if now[key] != before[key] and (before[key] is not None or key[:4] == "run.")
        ]
    if differ:
        raise FedkinError(
            f"{folder} is a run of another setting ({differ[0]}): choose another --out"
        )


def _settings(spec: Spec) -> dict[str, Any]:
    """All that decides what a run computes, by dotted key."""
    content = rooted(spec).model_dump(mode="json", exclude={"engine": True, "data": {"dir"}})
    return {
        f"{section}.{key}": value
        for section, keys in content.items()
        for key, value in keys.items()
    }


def parse_file(path: Path) -> Spec:
    """The specification that a run directory keeps."""
    from fedkin.runs.spec import read

    content, text = read(path)
    return parse(content, text, str(path))[0]


def _toy(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    """COMET's linear regression: in closed form, no run."""
    began = processor()
    method, client = row.options["method"], int(row.options["client"].removeprefix("client "))
    distances = [float(toy(seed).distances()[method][client]) for seed in seeds]
    return Outcome(row, seeds, {"distance to its truth": distances}, processor() - began, [])


RUNNERS: Runners = {"experiment": _experiment, "linear_toy": _toy}
READERS: Runners = {"experiment": _finished, "linear_toy": _toy}


def mean(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return float(np.mean(values)) if len(values) else None
