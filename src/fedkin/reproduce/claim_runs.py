"""The runs behind the claims: what is there, what is missing and what it would cost, and the
findings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.reproduce.claim import Case, Claim, Register, like, rows_of
from fedkin.reproduce.claim_numbers import WHOLE, numbers
from fedkin.reproduce.claim_verdict import Finding, Values, judge, needed, verdict_of
from fedkin.reproduce.estimate import Estimate, estimate, total_of
from fedkin.reproduce.from_files.full_scale import NO_FINDING
from fedkin.reproduce.from_files.kept_verdicts import KeptVerdict, settings
from fedkin.reproduce.outcome import Outcome
from fedkin.reproduce.preset import Row
from fedkin.reproduce.row_spec import same_persons
from fedkin.reproduce.running import known, outcomes


class CaseDetails(NamedTuple):
    """What stands beside the finding of a case. ``settings``: a digest of what was tested.
    ``lacking``: the rows that had too few seeds; ``reasons``: why. ``full``: the finding at the
    papers' own scale.
    """

    settings: str
    lacking: tuple[str, ...]
    reasons: tuple[str, ...]
    full: Finding = NO_FINDING


class JudgedClaim(NamedTuple):
    """One claim with its verdict. ``where``: the cases in which it holds. ``findings``,
    ``details``: one a case.

    ``missing``: reasons why rows were not run. ``cost``: processor time of the rows that are not
    run, all seeds.
    """

    claim: Claim
    verdict: str
    where: tuple[str, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]
    cost: Estimate
    details: tuple[CaseDetails, ...]


class ClaimRequest(NamedTuple):
    """The claims that are to be judged, and what they are judged by.

    ``out``: the folder of the runs. ``changes``: {"section.key": value} of every run.
    ``kept_verdicts``: verdicts that were reached before, by claim and case. ``full_findings``: by
    claim, the findings at the papers' own scale.
    """

    register: Register
    scale: str
    seeds: int
    out: Path
    changes: Mapping[str, Any]
    speed: float = 1.0
    kept_verdicts: Mapping[tuple[str, str], KeptVerdict] = {}
    full_findings: Mapping[str, tuple[Finding, ...]] = {}

    def kept_verdict(self, claim: Claim, case: Case, rows: Mapping[str, Row]) -> KeptVerdict | None:
        """The kept verdict of a case, where what it tested is as it is today.

        Args:
            claim: Of the register.
            case: One of its tests.
            rows: {name: row} at the scale that is asked for.

        Returns:
            None where there is none, or what it tested has changed.
        """
        kept = self.kept_verdicts.get((claim.id, case.name))
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


def known_outcomes(request: ClaimRequest, rows: Mapping[str, Row]) -> dict[str, Outcome]:
    """Every row as it is there, with all its finished seeds; trains nothing.

    Args:
        request: What the claims need.
        rows: {name in the claims: row}.

    Returns:
        {name: what came of it}; one that is not run says why.
    """
    return {
        name: known(row, request.seeds, request.out, request.changes, request.speed)
        for name, row in rows.items()
    }


def unfinished(
    request: ClaimRequest, rows: Mapping[str, Row], outcome_of: Mapping[str, Outcome]
) -> dict[str, Row]:
    """The rows of which fewer seeds are finished than were asked for; not those whose cases all
    have kept verdicts.

    Args:
        request: What the claims need.
        rows: {name in the claims: row}.
        outcome_of: {name: what came of it so far}.

    Returns:
        {name: row}.
    """
    fewer_seeds = {
        name: row for name, row in rows.items() if len(outcome_of[name].seeds) < request.seeds
    }
    if not request.kept_verdicts:
        return fewer_seeds
    all_rows = request.rows()
    open_cases = (
        case for claim, case in _cases(request) if not _settled(request, claim, case, all_rows)
    )
    rows_needed = {name for case in open_cases for name in case.needs}
    return {name: row for name, row in fewer_seeds.items() if name in rows_needed}


def _cases(request: ClaimRequest) -> Iterator[tuple[Claim, Case]]:
    return ((claim, case) for claim in request.register.claims for case in claim.cases)


def _settled(request: ClaimRequest, claim: Claim, case: Case, rows: Mapping[str, Row]) -> bool:
    """Whether a kept verdict has all that was asked for."""
    before = request.kept_verdict(claim, case, rows)
    return before is not None and not before.lacking and before.finding.seeds >= request.seeds


def complete(
    request: ClaimRequest,
    rows: Mapping[str, Row],
    outcome_of: dict[str, Outcome],
    tell: Callable[[str], None],
) -> dict[str, Outcome]:
    """The same after the runs that were missing; a row that cannot be run says why.

    Args:
        request: What the claims need.
        rows: {name in the claims: row}.
        outcome_of: {name: what came of it so far}.
        tell: Takes a sentence after each row.

    Returns:
        {name: what came of it}.
    """
    for name, row in unfinished(request, rows, outcome_of).items():
        (outcome,) = outcomes([row], request.seeds, request.out, request.changes, request.speed)
        outcome_of = {
            **outcome_of,
            name: outcome
            if not outcome.missing or not outcome_of[name].seeds
            else outcome_of[name],
        }
        tell(f"{row.name}  {outcome.missing or 'done'}")
    return outcome_of


def judged(
    request: ClaimRequest, rows: Mapping[str, Row], outcome_of: Mapping[str, Outcome]
) -> list[JudgedClaim]:
    """Every claim of the register with its verdict.

    Args:
        request: What the claims need.
        rows: {name in the claims: row}.
        outcome_of: {name: what came of it}.

    Returns:
        In the order of the register.
    """
    return [_judged_claim(request, claim, rows, outcome_of) for claim in request.register.claims]


def _judged_claim(
    request: ClaimRequest, claim: Claim, rows: Mapping[str, Row], outcome_of: Mapping[str, Outcome]
) -> JudgedClaim:
    cases = [_judged_case(request, claim, case, rows, outcome_of) for case in claim.cases]
    findings = tuple(finding for finding, _ in cases)
    full = request.full_findings.get(claim.id) or (NO_FINDING,) * len(cases)
    details = tuple(
        case_details._replace(full=finding)
        for (_, case_details), finding in zip(cases, full, strict=True)
    )
    verdict, where = verdict_of(claim, findings)
    open_ = [case for case in claim.cases if not _settled(request, claim, case, rows)]
    lacking = dict.fromkeys(name for case in open_ for name in _lacking(request, case, outcome_of))
    return JudgedClaim(
        claim,
        verdict,
        where,
        findings,
        tuple(dict.fromkeys(reason for of_case in details for reason in of_case.reasons)),
        total_of(request.cost(name, rows[name]) for name in lacking),
        details,
    )


def _judged_case(
    request: ClaimRequest,
    claim: Claim,
    case: Case,
    rows: Mapping[str, Row],
    outcome_of: Mapping[str, Outcome],
) -> tuple[Finding, CaseDetails]:
    """By the runs that are here, or by the verdict that was kept where it is of more seeds."""
    persons = all(same_persons(rows[name], request.changes) for name in case.needs)
    finding = judge(case, _numbers(case, outcome_of), persons)
    digest = settings(case, rows, request.changes)
    before = request.kept_verdict(claim, case, rows)
    if before is not None and (before.finding.seeds > finding.seeds or not finding.seeds):
        return before.finding, CaseDetails(digest, before.lacking, before.reasons)
    lacking = _lacking(request, case, outcome_of)
    reasons = dict.fromkeys(
        outcome_of[name].missing for name in lacking if outcome_of[name].missing
    )
    return finding, CaseDetails(digest, lacking, tuple(reasons))


def _lacking(
    request: ClaimRequest, case: Case, outcome_of: Mapping[str, Outcome]
) -> tuple[str, ...]:
    least = max(needed(case), request.seeds)
    return tuple(name for name in case.needs if len(outcome_of[name].seeds) < least)


def _numbers(case: Case, outcome_of: Mapping[str, Outcome]) -> dict[str, Values]:
    return {name: _values(outcome_of[name], case.measure) for name in case.needs}


def _values(outcome: Outcome, measure: str) -> Values:
    """By seed; none where a run has no such number."""
    if not outcome.folders:
        return [{WHOLE: value} for value in outcome.numbers.get(measure, [])]
    try:
        values: Sequence[Mapping[str, float]] = [
            numbers(folder, measure) for folder in outcome.folders
        ]
    except FedkinError:  # of a run that is damaged
        return []
    return values if all(values) else []
