"""The runs behind the claims: what is there, what is missing and what it would cost, and the
findings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.reproduce.claim import Case, Claim, Register, like, rows_of
from fedkin.reproduce.claim_numbers import WHOLE, numbers
from fedkin.reproduce.claim_verdict import Finding, Values, judge, needed, together
from fedkin.reproduce.estimate import Estimate, estimate
from fedkin.reproduce.estimate import together as added
from fedkin.reproduce.outcome import Outcome
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import same_persons
from fedkin.reproduce.running import known, outcomes
from fedkin.reproduce.told.full_scale import UNTOLD
from fedkin.reproduce.told.kept_verdicts import KeptVerdict, settings


class About(NamedTuple):
    """What stands beside the finding of a case. ``settings``: a digest of what was tested.
    ``lacking``: the rows that had too few seeds; ``reasons``: why. ``full``: the finding at the
    papers' own scale.
    """

    settings: str
    lacking: tuple[str, ...]
    reasons: tuple[str, ...]
    full: Finding = UNTOLD


class Judged(NamedTuple):
    """One claim with its verdict. ``where``: the cases in which it holds. ``findings``, ``about``:
    one a case.

    ``missing``: reasons why rows were not run. ``cost``: processor time of the rows that are not
    run, all seeds.
    """

    claim: Claim
    verdict: str
    where: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    cost: Estimate
    about: tuple[About, ...] = ()


class Asked(NamedTuple):
    """What the claims of a register need.

    ``out``: the folder of the runs. ``changes``: of every run. ``kept``: verdicts that were reached
    before. ``full``: by claim, the findings at the papers' own scale.
    """

    register: Register
    scale: str
    seeds: int
    out: Path
    changes: Mapping[str, Any]
    speed: float = 1.0
    kept: Mapping[tuple[str, str], KeptVerdict] = {}
    full: Mapping[str, tuple[Finding, ...]] = {}

    def before(self, claim: Claim, case: Case, rows: Mapping[str, Row]) -> KeptVerdict | None:
        """The kept verdict of a case, where what it tested is as it is today.

        Args:
            claim: Of the register.
            case: One of its tests.
            rows: {name: row} at the scale that is asked for.

        Returns:
            None where there is none, or what it tested has changed.
        """
        kept = self.kept.get((claim.id, case.name))
        same = kept is not None and kept.settings == settings(case, rows, self.changes)
        return kept if same else None

    def rows(self) -> dict[str, Row]:
        """The rows that the claims compare.

        Returns:
            {name in the claims: row}.

        Raises:
            FedkinError: A claim compares a row that is not there.
        """
        return rows_of(self.register, self.scale)

    def cost(self, name: str, row: Row) -> Estimate:
        """Of all seeds of a row; a row that no preset has costs what the row costs that it is made
        of, roughly.

        Args:
            name: In the claims.
            row: The row of that name.

        Returns:
            Processor seconds, and whether they are a rough guess.
        """
        other = like(name, self.register.own)
        costs = estimate(
            row._replace(name=row.name.replace(name, other, 1)),
            self.changes,
            self.speed,
            self.seeds,
        )
        return costs if other == name else costs._replace(rough=True)


def state(asked: Asked, rows: Mapping[str, Row]) -> dict[str, Outcome]:
    """Every row as it is there, with all its finished seeds; trains nothing.

    Args:
        asked: What the claims need.
        rows: {name in the claims: row}.

    Returns:
        {name: what came of it}; one that is not run says why.
    """
    return {
        name: known(row, asked.seeds, asked.out, asked.changes, asked.speed)
        for name, row in rows.items()
    }


def todo(asked: Asked, rows: Mapping[str, Row], there: Mapping[str, Outcome]) -> dict[str, Row]:
    """The rows of which fewer seeds are finished than were asked for; not those whose cases all
    have kept verdicts.

    Args:
        asked: What the claims need.
        rows: {name in the claims: row}.
        there: {name: what came of it so far}.

    Returns:
        {name: row}.
    """
    left = {name: row for name, row in rows.items() if len(there[name].seeds) < asked.seeds}
    if not asked.kept:
        return left
    every = asked.rows()
    open_ = (case for claim, case in _cases(asked) if not _settled(asked, claim, case, every))
    needed = {name for case in open_ for name in case.needs}
    return {name: row for name, row in left.items() if name in needed}


def _cases(asked: Asked) -> Iterator[tuple[Claim, Case]]:
    return ((claim, case) for claim in asked.register.claims for case in claim.cases)


def _settled(asked: Asked, claim: Claim, case: Case, rows: Mapping[str, Row]) -> bool:
    """Whether a kept verdict has all that was asked for."""
    before = asked.before(claim, case, rows)
    return before is not None and not before.lacking and before.finding.seeds >= asked.seeds


def complete(
    asked: Asked, rows: Mapping[str, Row], there: dict[str, Outcome], tell: Callable[[str], None]
) -> dict[str, Outcome]:
    """The same after the runs that were missing; a row that cannot be run says why.

    Args:
        asked: What the claims need.
        rows: {name in the claims: row}.
        there: {name: what came of it so far}.
        tell: Takes a sentence after each row.

    Returns:
        {name: what came of it}.
    """
    for name, row in todo(asked, rows, there).items():
        (one,) = outcomes([row], asked.seeds, asked.out, asked.changes, asked.speed)
        there = {**there, name: one if not one.missing or not there[name].seeds else there[name]}
        tell(f"{row.name}  {one.missing or 'done'}")
    return there


def judged(asked: Asked, rows: Mapping[str, Row], there: Mapping[str, Outcome]) -> list[Judged]:
    """Every claim of the register with its verdict.

    Args:
        asked: What the claims need.
        rows: {name in the claims: row}.
        there: {name: what came of it}.

    Returns:
        In the order of the register.
    """
    return [_one(asked, claim, rows, there) for claim in asked.register.claims]


def _one(
    asked: Asked, claim: Claim, rows: Mapping[str, Row], there: Mapping[str, Outcome]
) -> Judged:
    cases = [_case(asked, claim, case, rows, there) for case in claim.cases]
    findings = tuple(finding for finding, _ in cases)
    full = asked.full.get(claim.id) or (UNTOLD,) * len(cases)
    about = tuple(one._replace(full=of) for (_, one), of in zip(cases, full, strict=True))
    verdict, where = together(claim, findings)
    open_ = [case for case in claim.cases if not _settled(asked, claim, case, rows)]
    lacking = dict.fromkeys(name for case in open_ for name in _lacking(asked, case, there))
    return Judged(
        claim,
        verdict,
        where,
        findings,
        tuple(dict.fromkeys(reason for one in about for reason in one.reasons)),
        added(asked.cost(name, rows[name]) for name in lacking),
        about,
    )


def _case(
    asked: Asked,
    claim: Claim,
    case: Case,
    rows: Mapping[str, Row],
    there: Mapping[str, Outcome],
) -> tuple[Finding, About]:
    """By the runs that are here, or by the verdict that was kept where it is of more seeds."""
    persons = all(same_persons(rows[name], asked.changes) for name in case.needs)
    finding = judge(case, _numbers(case, there), persons)
    digest = settings(case, rows, asked.changes)
    before = asked.before(claim, case, rows)
    if before is not None and (before.finding.seeds > finding.seeds or not finding.seeds):
        return before.finding, About(digest, before.lacking, before.reasons)
    lacking = _lacking(asked, case, there)
    reasons = dict.fromkeys(there[name].missing for name in lacking if there[name].missing)
    return finding, About(digest, lacking, tuple(reasons))


def _lacking(asked: Asked, case: Case, there: Mapping[str, Outcome]) -> tuple[str, ...]:
    least = max(needed(case), asked.seeds)
    return tuple(name for name in case.needs if len(there[name].seeds) < least)


def _numbers(case: Case, there: Mapping[str, Outcome]) -> dict[str, Values]:
    return {name: _values(there[name], case.measure) for name in case.needs}


def _values(one: Outcome, measure: str) -> Values:
    """By seed; none where a run has no such number."""
    if not one.folders:
        return [{WHOLE: value} for value in one.numbers.get(measure, [])]
    try:
        values: Sequence[Mapping[str, float]] = [numbers(folder, measure) for folder in one.folders]
    except FedkinError:  # of a run that is damaged
        return []
    return values if all(values) else []
