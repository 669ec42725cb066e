"""Verdicts that were reached before, where the runs behind them are gone: claims.csv.

A line is one case with its finding and a digest of what was tested: the settings of its rows and
the test itself. A verdict is taken only where that is as it is today, and only where the runs that
are here have fewer seeds.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, cut, unknown
from fedkin.reproduce.claim import Case
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, INTERVAL, OPEN, Finding
from fedkin.reproduce.finished_rows import CLAIMS, number_or_none, read_csv, whole_number
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of

LACKING, REASONS = "lacking", "reasons"
NUMBERS = ("effect", "low", "high", "seeds")
COLUMNS = ("claim", "case", "verdict", *NUMBERS, "why", "settings", LACKING, REASONS)
AND = " | "  # between reasons


class KeptVerdict(NamedTuple):
    """A finding of a case. ``lacking``: the rows that had too few seeds; ``reasons``: why.
    ``settings``: the digest of what was tested.
    """

    finding: Finding
    lacking: tuple[str, ...]
    reasons: tuple[str, ...]
    settings: str


Verdicts = Mapping[tuple[str, str], KeptVerdict]  # by claim and case


def settings(case: Case, rows: Mapping[str, Row], changes: Mapping[str, Any]) -> str:
    """A digest of what a case tests.

    Args:
        case: The test.
        rows: By name, at the scale that is asked for.
        changes: Of every run.

    Returns:
        Of its rows' settings, its kind, measure, bounds and interval; "" where a row cannot have
        the changes.
    """
    try:
        runs = [_digest(rows[name], changes) for name in case.needs]
    except FedkinError:
        return ""
    test = [case.kind, case.measure, case.rows, case.bounds, case.direction]
    if case.kind != "steadier":  # whose interval was never another one
        test.append(INTERVAL)
    return hashlib.sha256(json.dumps([runs, test], sort_keys=True).encode()).hexdigest()[:16]


def _digest(row: Row, changes: Mapping[str, Any]) -> str:
    if row.runner != "experiment":
        return json.dumps([row.runner, row.options], sort_keys=True)
    return _of(row.spec, json.dumps(row.changes), json.dumps(changes))


@cache  # the same row is in many cases
def _of(spec: str, changes: str, more: str) -> str:
    row = Row(spec, spec, json.loads(changes), (), "experiment", {})
    return digest_of(spec_of(row, 0, json.loads(more)))


def kept_verdicts(folder: Path) -> Verdicts:
    """The verdicts that the claims.csv of a folder tells.

    Args:
        folder: One with CSV files of finished rows.

    Returns:
        By claim and case; nothing where it has no claims.csv.

    Raises:
        FedkinError: The file is none of ours.
    """
    path = folder / CLAIMS
    if not os.path.lexists(path):  # a link to nothing is a mistake, not a folder without verdicts
        return {}
    columns, lines = read_csv(path)
    if lacking := [one for one in COLUMNS if one not in columns]:
        raise FedkinError(
            f"{path} is no file of verdicts that can be taken: it has no column {lacking[0]}"
        )
    verdicts: dict[tuple[str, str], KeptVerdict] = {}
    for number, line in enumerate(lines, start=2):
        case = line["claim"], line["case"]
        if case in verdicts:
            raise FedkinError(
                f"{path}: line {number} tells of {cut(' '.join(map(str, case)).strip(), 200)}, "
                "as a line above it does: leave one of them"
            )
        verdicts[case] = _kept(line, f"{path}: line {number}")
    return verdicts


def _kept(line: Mapping[str, str | None], where: str) -> KeptVerdict:
    if any(line[column] is None for column in COLUMNS):
        raise FedkinError(f"{where} has too few cells")
    cells = {column: value or "" for column, value in line.items()}
    if cells["verdict"] not in (HOLDS, FAILS, OPEN):
        raise FedkinError(f"{where}: {unknown('verdict', cells['verdict'], (HOLDS, FAILS, OPEN))}")
    try:
        numbers = [number_or_none(cells[key]) for key in ("effect", "low", "high")]
        seeds = whole_number(cells["seeds"])
    except ValueError:
        raise FedkinError(
            f"{where} has no numbers where effect, low, high and seeds belong"
        ) from None
    if seeds < 0:
        raise FedkinError(f"{where} has {seeds} seeds: a verdict is of 0 or more")
    effect, low, high = (math.nan if value is None else value for value in numbers)
    finding = Finding(cells["verdict"], effect, low, high, seeds, cells["why"])
    reasons = tuple(filter(None, cells[REASONS].split(AND)))
    return KeptVerdict(finding, tuple(cells[LACKING].split()), reasons, cells["settings"])
