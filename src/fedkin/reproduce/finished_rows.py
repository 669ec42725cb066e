"""Finished rows as CSV, beside their page: numbers that another machine takes in place of the runs.

A line is one number of one seed of a row. A row is taken only where its settings are the same:
``settings`` is a digest of all that was asked for and of the method's hyper-parameters.
``fingerprint`` is the run's own, by which a run made again can be held against the line.
"""

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, cut, reason
from fedkin.core.files import read_file
from fedkin.runs.spec import Spec

COLUMNS = ("row", "seed", "measure", "value", "seconds", "settings", "fingerprint", "version")
CLAIMS = "claims.csv"  # the verdicts of claims, which stand in the same folder
LARGEST = 16 * 2**20  # bytes of a file that is read
# int() and float() take 1_0 for 10, and digits of other scripts
WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,19}")
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# defaults of the time when the first rows were kept: a later default changes no old row
FIRST = {"method.name": "comet", "run.patience": None}
DEFAULTS = {
    f"{section}.{key}": value
    for section, keys in Spec().model_dump(mode="json").items()
    for key, value in keys.items()
} | FIRST
# Hyper-parameters that methods got after rows of theirs were kept, as they were until then
LATER = {
    "cgpfl": {"weights": "uniform"},
    "cgpfl_heur": {"weights": "uniform"},
    "ditto": {"start": "persistent"},
    "l2sgd": {"start": "persistent"},
    "pfedme": {"weights": "uniform"},
}
# Hyper-parameters that were a default when rows were run, and that presets name since.
ONCE_DEFAULT: dict[str, dict[str, Any]] = {
    "fedprox": {"mu": 1.0},
    "kt_pfl": {"distill_steps": 50},
}


class FinishedRun(NamedTuple):
    """A finished run of a row: its ``numbers`` by measure (None where it has none), the processor
    ``seconds`` it took (None where that was not kept), and what it was.
    """

    row: str
    seed: int
    numbers: Mapping[str, float | None]
    seconds: float | None
    settings: str
    fingerprint: str
    version: str


FinishedRuns = Mapping[tuple[str, int, str], FinishedRun]  # by row, seed and settings


def digest(settings: Mapping[str, Any], hyper: Mapping[str, Any]) -> str:
    """A digest of what is asked for, but for what is as [section]s have it by default: a new key
    changes no old row. Another default is another setting; a new one at what the method did before
    is none.

    Args:
        settings: {"section.key": value} of the run.
        hyper: The method's hyper-parameters with their defaults.

    Returns:
        16 hexadecimal digits.
    """
    method = settings.get("method.name", "")
    once = {f"method.{key}": value for key, value in ONCE_DEFAULT.get(method, {}).items()}
    plain = DEFAULTS | once
    asked = {
        key: value for key, value in settings.items() if key not in plain or plain[key] != value
    }
    later = LATER.get(method, {})
    kept = {key: value for key, value in hyper.items() if key not in later or later[key] != value}
    text = json.dumps([asked, kept], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_of(runs: Iterable[FinishedRun]) -> str:
    """The file's text.

    Args:
        runs: Finished runs.

    Returns:
        CSV with a head line: one line a number.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for run in runs:
        seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
        for measure, value in run.numbers.items():
            number = "" if value is None else repr(value)
            measured = [run.row, run.seed, measure, number, seconds]
            table.writerow([*measured, run.settings, run.fingerprint, run.version])
    return out.getvalue()


def read(folder: Path) -> FinishedRuns:
    """The runs that the CSV files of a folder tell; verdicts of claims are passed over.

    Args:
        folder: With CSV files of finished rows.

    Returns:
        By row, seed and settings.

    Raises:
        FedkinError: A file is none of ours, or two files tell of different runs of one row, seed
            and settings.
    """
    if not folder.is_dir():
        raise FedkinError(
            f"--from {folder} is no folder: name the one that has the CSV files of finished rows"
        )
    runs: dict[tuple[str, int, str], FinishedRun] = {}
    files: dict[tuple[str, int, str], Path] = {}
    for path in sorted(folder.glob("*.csv")):
        if path.name == CLAIMS:
            continue
        for key, run in runs_of(path).items():
            before = runs.get(key, run)
            if before.fingerprint != run.fingerprint:
                raise FedkinError(
                    f"{files[key]} and {path} tell of different runs of {run.row}, seed "
                    f"{run.seed}, with the same settings: leave one of the files in --from"
                )
            _same_numbers(before, run, f"{path}", f"{files.get(key, path)}")
            runs[key] = run._replace(numbers={**before.numbers, **run.numbers})
            files[key] = path
    return runs


def runs_of(path: Path) -> dict[tuple[str, int, str], FinishedRun]:
    """The runs that one CSV file tells.

    Args:
        path: Of the file.

    Returns:
        By row, seed and settings.

    Raises:
        FedkinError: The file is none of ours, or tells of two runs of one row, seed and settings.
    """
    runs: dict[tuple[str, int, str], FinishedRun] = {}
    for number, line in enumerate(_lines(path), start=2):
        run = _kept(line, f"{path}: line {number}")
        before = runs.get(key_of(run), run)
        if before.fingerprint != run.fingerprint:
            raise FedkinError(
                f"{path}: line {number} tells of another run of {run.row}, seed {run.seed}, than "
                "a line above it, with the same settings: leave one of them"
            )
        _same_numbers(before, run, f"{path}: line {number}", "a line above it")
        runs[key_of(run)] = run._replace(numbers={**before.numbers, **run.numbers})
    return runs


def kept(path: Path) -> FinishedRuns:
    """The runs that a page's CSV tells already. Asked before training too: a damaged file would
    stop the page only after all of it.

    Args:
        path: Of the file, which need not be there.

    Returns:
        By row, seed and settings.

    Raises:
        FedkinError: It is none of ours.
    """
    return runs_of(path) if path.exists() else {}


def _same_numbers(before: FinishedRun, run: FinishedRun, where: str, other: str) -> None:
    """Raises FedkinError where a run has two numbers of one measure."""
    for measure, value in run.numbers.items():
        known = before.numbers.get(measure, value)
        if known != value:
            raise FedkinError(
                f"{where} says that {cut(measure, 100)} of {cut(run.row, 100)}, seed {run.seed}, "
                f"is {value}, and {other} that it is {known}: leave one of them"
            )


def key_of(run: FinishedRun) -> tuple[str, int, str]:
    """By what a finished run is found.

    Args:
        run: A finished run of a row.

    Returns:
        (row, seed, digest of its settings).
    """
    return run.row, run.seed, run.settings


def filled(run: FinishedRun, spec: Spec, names: Collection[str]) -> FinishedRun:
    """The run with numbers that its line need not tell, for they follow from the rest of it.

    Args:
        run: A finished run.
        spec: What it was made of.
        names: The measures that are asked for.

    Returns:
        With "rounds", unless training could end early, and "processor minutes", where its seconds
        are known.
    """
    early = spec.run.patience is not None or spec.privacy.budget is not None
    follow = {
        "rounds": None if early else float(spec.run.rounds),
        "processor minutes": None if run.seconds is None else run.seconds / 60,
    }
    known = {name: v for name, v in follow.items() if name in names and v is not None}
    return run._replace(numbers={**known, **run.numbers})


def other_numbers(made: Iterable[FinishedRun], elsewhere: FinishedRuns) -> tuple[FinishedRun, ...]:
    """The runs made here that a CSV tells otherwise: the same row, seed, settings and version,
    another fingerprint.

    Args:
        made: Finished runs of this machine.
        elsewhere: What the CSV files tell. They do not say on which machine.

    Returns:
        Those of ``made``. Runs of another version may differ and are passed over.
    """
    pairs = [(run, elsewhere.get(key_of(run))) for run in made]
    return tuple(
        run
        for run, elsewhere_run in pairs
        if elsewhere_run is not None
        and elsewhere_run.version == run.version
        and elsewhere_run.fingerprint != run.fingerprint
    )


def _lines(path: Path) -> list[dict[str, str]]:
    columns, lines = read_csv(path)
    if columns != COLUMNS:
        raise FedkinError(
            f"{path} is no file of finished rows: its columns are {', '.join(COLUMNS)}"
        )
    return lines


def read_csv(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """A CSV file of at most ``LARGEST`` bytes; spreadsheets begin theirs with a byte-order mark.

    Args:
        path: The file.

    Returns:
        Its columns, and its lines by column; a cell that a line lacks is None.

    Raises:
        FedkinError: It cannot be read, is too large, or is no CSV file.
    """
    try:
        table = csv.DictReader(io.StringIO(read_file(path, LARGEST).decode("utf-8-sig")))
        lines = list(table)
    except OSError as error:
        raise FedkinError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise FedkinError(f"{path} cannot be read: {reason(error)}") from None
    return tuple(table.fieldnames or ()), lines


def _kept(line: Mapping[str, str], where: str) -> FinishedRun:
    if len(line) > len(COLUMNS) or any(line[column] is None for column in COLUMNS):
        raise FedkinError(f"{where} has not {len(COLUMNS)} cells: {', '.join(COLUMNS)}")
    try:
        seed, value = whole_number(line["seed"]), number_or_none(line["value"])
        seconds = number_or_none(line["seconds"])
    except ValueError:
        raise FedkinError(f"{where} has no numbers where seed, value and seconds belong") from None
    if seconds is not None and seconds < 0:
        raise FedkinError(f"{where} has {seconds:g} seconds: a run takes 0 or more")
    numbers = {line["measure"]: value}
    return FinishedRun(
        line["row"], seed, numbers, seconds, line["settings"], line["fingerprint"], line["version"]
    )


def whole_number(text: str) -> int:
    """The whole number of a cell.

    Args:
        text: Of the cell.

    Returns:
        The number.

    Raises:
        ValueError: It is none.
    """
    if not WHOLE_NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def number_or_none(text: str) -> float | None:
    """The number of a cell.

    Args:
        text: Of the cell.

    Returns:
        A finite number; None of an empty cell.

    Raises:
        ValueError: It is none, or none that is finite.
    """
    if not text:
        return None
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(text)
    return value
