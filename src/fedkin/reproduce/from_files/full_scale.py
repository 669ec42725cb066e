"""What finished rows at the papers' own scale say of the claims.

The CSV files of finished rows have one number a seed and no clients. The same predicates are judged
(``claim_verdict``), by the seeds alone: no interval is given. A case is judged where all its rows
have finished runs, under the same seeds. Where Table III of COMET stands for one with another model
(``Register.stand_ins``), all rows of a case are of that one or none is; they are asked where the
case's own rows do not all have such runs, or under no common seed.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.reproduce.claim import Case, Register, preset_rows, rows_of
from fedkin.reproduce.claim_numbers import WHOLE
from fedkin.reproduce.claim_verdict import OPEN, Finding, judge
from fedkin.reproduce.finished_rows import FinishedRun, FinishedRuns
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of

NO_FINDING = Finding(OPEN, untested=True)
OF_PAIRS = {"share"}  # kinds that count clients: no CSV has them
Runs = Mapping[int, FinishedRun]  # by seed


def full_scale(
    register: Register, elsewhere: FinishedRuns, changes: Mapping[str, Any]
) -> dict[str, tuple[Finding, ...]]:
    """The findings at the papers' scale, one a case.

    Args:
        register: The claims.
        elsewhere: Finished rows, of CSV files.
        changes: Of every run: a run made with other settings is not taken.

    Returns:
        By claim; ``NO_FINDING`` for a case whose rows do not all have finished runs.
    """
    finished = _finished(register, elsewhere, changes)
    return {
        claim.id: tuple(_judged(register, case, finished) for case in claim.cases)
        for claim in register.claims
    }


def substitute_rows(register: Register, case: Case) -> tuple[str, ...]:
    """The rows that stand for those of a case; () where not every row has one.

    Args:
        register: The claims.
        case: The test.

    Returns:
        Names of rows.
    """
    stand_ins = tuple(_instead(register, name) for name in case.needs)
    return stand_ins if all(stand_ins) else ()


def _instead(register: Register, name: str) -> str:
    for beginning, other in register.stand_ins.items():
        if name.startswith(beginning):
            return other + name.removeprefix(beginning)
    return ""


def _judged(register: Register, case: Case, finished: Mapping[str, Runs]) -> Finding:
    if case.kind in OF_PAIRS:
        return NO_FINDING
    for names in (case.needs, substitute_rows(register, case)):
        runs = [finished.get(name, {}) for name in names]
        if runs and all(runs) and (finding := _by_seed(case, runs)) is not None:
            return finding
    return NO_FINDING


def _by_seed(case: Case, runs: Iterable[Runs]) -> Finding | None:
    """Of the seeds that every row has; None where there is none, or where they are too few for any
    number, as two are for an sd that leaves one out.
    """
    by_row = {
        name: {
            seed: value
            for seed, run in runs_of_row.items()
            if (value := _number(case, run)) is not None
        }
        for name, runs_of_row in zip(case.needs, runs, strict=True)
    }
    seeds = sorted(set.intersection(*(set(values) for values in by_row.values())))
    if not seeds:
        return None
    numbers = {name: [{WHOLE: of[seed]} for seed in seeds] for name, of in by_row.items()}
    finding = judge(case, numbers, clients=False)
    return finding if math.isfinite(finding.effect) else None


def _number(case: Case, run: FinishedRun) -> float | None:
    return run.seconds if case.measure == "processor" else run.numbers.get(case.measure)


def _finished(
    register: Register, elsewhere: FinishedRuns, changes: Mapping[str, Any]
) -> dict[str, Runs]:
    """By row: its finished runs that were made with its settings of today."""
    known, wanted = preset_rows("full"), rows_of(register, "full")
    for claim in register.claims:
        for case in claim.cases:
            wanted |= {
                name: known[name] for name in substitute_rows(register, case) if name in known
            }
    by_row: dict[str, dict[int, FinishedRun]] = {}
    for run in elsewhere.values():
        if run.row in wanted and _same(wanted[run.row], run, changes):
            by_row.setdefault(run.row, {})[run.seed] = run
    return dict(by_row)


def _same(row: Row, run: FinishedRun, changes: Mapping[str, Any]) -> bool:
    if row.runner != "experiment":
        return False
    try:
        return digest_of(spec_of(row, run.seed, changes)) == run.settings
    except FedkinError:  # a row that cannot have the changes
        return False
