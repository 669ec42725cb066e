"""The runs behind the claims: what is there, what is missing and what it would cost, and the
findings.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.reproduce.claim import Case, Claim, Register, like, rows_of
from fedkin.reproduce.claim_numbers import WHOLE, numbers
from fedkin.reproduce.claim_verdict import SEEDS, Finding, Values, judge, together
from fedkin.reproduce.estimate import Estimate, estimate
from fedkin.reproduce.estimate import together as added
from fedkin.reproduce.outcome import Outcome
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import same_persons
from fedkin.reproduce.running import known, outcomes


class Judged(NamedTuple):
    """One claim with its verdict. ``where``: the cases in which it holds. ``findings``: one a case.

    ``missing``: reasons why rows were not run. ``cost``: processor time of the rows that are not
    run, all seeds.
    """

    claim: Claim
    verdict: str
    where: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    cost: Estimate


class Asked(NamedTuple):
    """What the claims of a register need.

    ``out``: the folder of the runs. ``changes``: of every run.
    """

    register: Register
    scale: str
    seeds: int
    out: Path
    changes: Mapping[str, Any]
    speed: float = 1.0

    def rows(self) -> dict[str, Row]:
        return rows_of(self.register, self.scale)

    def cost(self, name: str, row: Row) -> Estimate:
        """Of all seeds of a row; a row that no preset has costs what the row costs that it is made
        of, roughly.
        """
        other = like(name, self.register.own)
        found = estimate(
            row._replace(name=row.name.replace(name, other, 1)),
            self.changes,
            self.speed,
            self.seeds,
        )
        return found if other == name else found._replace(rough=True)


def state(asked: Asked, rows: Mapping[str, Row]) -> dict[str, Outcome]:
    """Every row as it is there, with all its finished seeds; trains nothing."""
    return {
        name: known(row, asked.seeds, asked.out, asked.changes, asked.speed)
        for name, row in rows.items()
    }


def todo(asked: Asked, rows: Mapping[str, Row], there: Mapping[str, Outcome]) -> dict[str, Row]:
    """The rows of which fewer seeds are finished than were asked for."""
    return {name: row for name, row in rows.items() if len(there[name].seeds) < asked.seeds}


def complete(
    asked: Asked, rows: Mapping[str, Row], there: dict[str, Outcome], tell: Callable[[str], None]
) -> dict[str, Outcome]:
    """The same after the runs that were missing; a row that cannot be run says why."""
    for name, row in todo(asked, rows, there).items():
        (one,) = outcomes([row], asked.seeds, asked.out, asked.changes, asked.speed)
        there = {**there, name: one if not one.missing or not there[name].seeds else there[name]}
        tell(f"{row.name}  {one.missing or 'done'}")
    return there


def judged(asked: Asked, rows: Mapping[str, Row], there: Mapping[str, Outcome]) -> list[Judged]:
    """Every claim of the register with its verdict."""
    return [_one(asked, claim, rows, there) for claim in asked.register.claims]


def _one(
    asked: Asked, claim: Claim, rows: Mapping[str, Row], there: Mapping[str, Outcome]
) -> Judged:
    findings = tuple(
        judge(
            case,
            _numbers(case, there),
            all(same_persons(rows[name], asked.changes) for name in case.needs),
        )
        for case in claim.cases
    )
    verdict, where = together(claim, findings)
    lacking = [name for name in claim.needs if len(there[name].seeds) < max(SEEDS, asked.seeds)]
    reasons = tuple(dict.fromkeys(there[name].missing for name in lacking if there[name].missing))
    return Judged(
        claim,
        verdict,
        where,
        findings,
        reasons,
        added(asked.cost(name, rows[name]) for name in lacking),
    )


def _numbers(case: Case, there: Mapping[str, Outcome]) -> dict[str, Values]:
    return {name: _values(there[name], case.measure) for name in case.needs}


def _values(one: Outcome, measure: str) -> Values:
    """By seed; none where a run has no such number."""
    if not one.folders:
        return [{WHOLE: value} for value in one.numbers.get(measure, [])]
    try:
        found: Sequence[Mapping[str, float]] = [numbers(folder, measure) for folder in one.folders]
    except FedkinError:  # of a run that is damaged
        return []
    return found if all(found) else []
