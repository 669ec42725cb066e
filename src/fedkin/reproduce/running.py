"""Run the rows of a preset: one run a row and seed, resumed where it was stopped, not repeated
where it is finished.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, Halted
from fedkin.core.files import write_file
from fedkin.data.folder import data_folder
from fedkin.experiment.resume import resume
from fedkin.experiment.rounds_reporter import rounds_reporter
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted, Progress
from fedkin.report.records import number
from fedkin.report.summary import summary
from fedkin.reproduce.cost import FIRST, clocked, cost, processor
from fedkin.reproduce.estimate import estimate
from fedkin.reproduce.finished_rows import FinishedRun, FinishedRuns, digest, filled, other_numbers
from fedkin.reproduce.measures import measured, of_clients
from fedkin.reproduce.outcome import Outcome, joined, merged, over_seeds, single
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import command, portable, spec_of
from fedkin.reproduce.same_settings import ASKED, check_same, digest_of, settings_of
from fedkin.runs.database import read_only
from fedkin.runs.directory import has_begun, recorded
from fedkin.runs.record import Record
from fedkin.runs.spec import Spec
from fedkin.theory.linear_toy import toy

KEPT_TOO = ["scalars"]  # numbers of every run: presets that share runs ask for more than their own
Runners = Mapping[str, Callable[[Row, list[int], Path, Mapping[str, Any]], Outcome]]


def outcomes(
    rows: Sequence[Row],
    seeds: int,
    out: Path,
    changes: Mapping[str, Any],
    speed: float = 1.0,
    elsewhere: FinishedRuns | None = None,
    *,
    train: bool = True,
) -> Iterator[Outcome]:
    """The rows one after the other; what cannot be run (its data are not there) says why.

    Args:
        rows: Of a preset.
        seeds: How many of each: 0, 1, ….
        out: The folder of the runs.
        changes: {"section.key": value} of every run.
        speed: How many times as fast this machine is as the one of costs.csv.
        elsewhere: Finished runs of other machines. One that is not begun here and has the same
            settings is taken, and one that is here is held against it. None: there are none.
        train: Whether what is not finished is run; else a run that lacks a number is taken, too,
            for it has the others.

    Yields:
        What came of each row.

    Raises:
        Interrupted: After Ctrl-C; the same call goes on.
        Halted: The disk is full, or a worker is lost: no row is to blame. The same call goes on.
    """
    runners = RUNNERS if train else READERS
    for row in rows:
        try:
            from_elsewhere = [
                one
                for seed in range(seeds)
                if (one := _taken(row, seed, out, changes, elsewhere or {}, part=not train))
            ]
            taken = {one.seed for one in from_elsewhere}
            rest = [seed for seed in range(seeds) if seed not in taken]
            done = joined(row, from_elsewhere)
            if rest:
                here = runners[row.runner](row, rest, out, changes)
                apart = other_numbers(here.runs, elsewhere or {})
                done = merged(done, here)._replace(apart=apart)
        except Interrupted:
            raise Interrupted(
                f"stopped in {row.name}: the same command goes on where it was"
            ) from None
        except Halted as error:  # a full disk, say, which every other row would meet
            raise Halted(f"stopped in {row.name}: {error}") from None
        except FedkinError as error:
            done = Outcome(row, [], {}, None, [], _anywhere(str(error), out, changes))
        estimated = estimate(row, changes, speed, seeds)
        yield done._replace(estimated=estimated, command=command(row, 0, portable(changes)))


def known(
    row: Row,
    seeds: int,
    out: Path,
    changes: Mapping[str, Any],
    speed: float = 1.0,
    elsewhere: FinishedRuns | None = None,
) -> Outcome:
    """A row that is not asked for, as it is there: with all the seeds that are finished. Trains
    nothing.

    Args:
        row: Of a preset.
        seeds: How many are meant where none is finished.
        out: The folder of the runs.
        changes: {"section.key": value} of every run.
        speed: How many times as fast this machine is as the one of costs.csv.
        elsewhere: Finished runs of other machines; None: there are none.

    Returns:
        What is there.
    """
    others = elsewhere or {}

    def over(seed: int) -> bool:
        if _over(out / f"{row.name}-seed{seed}"):
            return True
        try:
            return _taken(row, seed, out, changes, others, part=True) is not None
        except FedkinError:  # a row that cannot have the changes: below it says why
            return False

    there = sum(1 for _ in takewhile(over, count())) if row.runner == "experiment" else 0
    return next(outcomes([row], there or seeds, out, changes, speed, others, train=False))


def _taken(
    row: Row, seed: int, out: Path, changes: Mapping[str, Any], elsewhere: FinishedRuns, part: bool
) -> FinishedRun | None:
    """A finished run of another machine in place of one here. ``part``: also one that lacks some of
    the row's numbers.
    """
    if not elsewhere or row.runner != "experiment" or has_begun(out / f"{row.name}-seed{seed}"):
        return None
    spec, names = spec_of(row, seed, changes), set(single(row))
    one = elsewhere.get((row.name, seed, digest_of(spec)))
    if one is None:
        return None
    one = filled(one, spec, names)
    there = names & set(one.numbers)
    return one if there == names or (part and there) else None


def _over(folder: Path) -> bool:
    """Whether a run is finished; cheap, for a page asks it of every row."""
    try:
        with read_only(folder) as database:
            return database.facts().get("finished") is True
    except FedkinError:
        return False


def _anywhere(text: str, out: Path, changes: Mapping[str, Any]) -> str:
    """A message without this machine's folders, for a page that is read elsewhere."""
    where = data_folder(changes.get("data.dir"))
    return text.replace(f" in {where}", "").replace(f"{out}{os.sep}", "")


def _folders(row: Row, seeds: list[int], out: Path) -> list[Path]:
    return [out / f"{row.name}-seed{seed}" for seed in seeds]


def _experiment(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    folders = _folders(row, seeds, out)
    for seed, folder in zip(seeds, folders, strict=True):
        spec = spec_of(row, seed, changes)
        if has_begun(folder):
            check_same(folder, spec)
            clocked(folder, partial(_resumed, spec, folder))
        else:
            clocked(folder, partial(_begun, spec, folder))
    return _outcome(row, seeds, folders, changes)


def _finished(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    """The same where it is finished; trains nothing."""
    folders = _folders(row, seeds, out)
    for seed, folder in zip(seeds, folders, strict=True):
        if not recorded(folder):
            raise FedkinError("not run yet")
        check_same(folder, spec_of(row, seed, changes))
        if not summary(folder)["finished"]:
            raise FedkinError("begun, not finished")
    return _outcome(row, seeds, folders, changes)


def _outcome(
    row: Row, seeds: list[int], folders: list[Path], changes: Mapping[str, Any]
) -> Outcome:
    names = single(row)
    each = [_measured(row, folder) for folder in folders]
    numbers = {name: [v for one in each if (v := one[name]) is not None] for name in names}
    spent = [spent_here.total for folder in folders if (spent_here := cost(folder)) is not None]
    runs = tuple(
        _run(row, seed, spec_of(row, seed, changes), folder, facts)
        for seed, folder, facts in zip(seeds, folders, each, strict=True)
    )
    whole = sum(spent) if len(spent) == len(folders) else None
    all_seeds = over_seeds(row, runs)
    return Outcome(row, seeds, numbers, whole, folders, runs=runs, over_seeds=all_seeds)


def _measured(row: Row, folder: Path) -> dict[str, float | None]:
    """What a row is about, what other rows of the same runs are, and of each client what a number
    of all seeds is made of.
    """
    numbers = measured(folder, list(dict.fromkeys([*single(row), *KEPT_TOO])))
    numbers |= of_clients(folder) if len(single(row)) < len(row.values) else {}
    return {name: number(value) for name, value in numbers.items()}


def _run(
    row: Row, seed: int, spec: Spec, folder: Path, numbers: Mapping[str, float | None]
) -> FinishedRun:
    """A finished run, for others to take."""
    with read_only(folder) as database:
        facts = database.facts()
    settings = digest(settings_of(spec), facts.get("hyper") or {})
    version = str((facts.get("versions") or {}).get("fedkin", ""))
    spent, fingerprint = cost(folder), str(facts.get("fingerprint") or "")
    return FinishedRun(
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
            content = json.dumps(settings_of(spec)).encode()
            write_file(folder / ASKED, content, links=False)
        progress(record)

    return run(
        spec, folder, progress=rounds_reporter(f"rounds of {folder.name}", spec.run.rounds, first)
    )


def _resumed(spec: Spec, folder: Path, progress: Progress) -> Path:
    reporter = rounds_reporter(f"rounds of {folder.name}", spec.run.rounds, progress)
    return resume(folder, progress=reporter)


def _toy(row: Row, seeds: list[int], out: Path, changes: Mapping[str, Any]) -> Outcome:
    """COMET's linear regression: in closed form, no run."""
    began = processor()
    method, client = row.options["method"], int(row.options["client"].removeprefix("client "))
    distances = [float(toy(seed).distances()[method][client]) for seed in seeds]
    return Outcome(row, seeds, {"distance to its truth": distances}, processor() - began, [])


RUNNERS: Runners = {"experiment": _experiment, "linear_toy": _toy}
READERS: Runners = {"experiment": _finished, "linear_toy": _toy}
