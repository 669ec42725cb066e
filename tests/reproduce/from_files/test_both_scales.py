"""Both scales side by side, in words and counts."""

from fedkin.reproduce.claim import read_claims
from fedkin.reproduce.claim_runs import CaseDetails, JudgedClaim
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, OPEN, SAME, Finding, verdict_of
from fedkin.reproduce.estimate import Estimate
from fedkin.reproduce.from_files.both_scales import (
    APART,
    EVERY,
    NONE,
    by_seed,
    contradict,
    counts,
    in_short,
    pairs,
    signs,
    verdict_at_papers_scale,
)
from fedkin.reproduce.from_files.full_scale import NO_FINDING
from tests.reproduce.claim_examples import ONE


def small(verdict: str) -> Finding:
    return Finding(verdict, 1.0, 0.5, 1.5, 3)


def full(verdict: str, *means: float, why: str = "", untested: bool = False) -> Finding:
    mean, seeds = sum(means) / len(means), len(means)
    return Finding(verdict, mean, seeds=seeds, why=why, means=means, untested=untested)


def judged(at_small: tuple[str, str], there: tuple[Finding, Finding]) -> JudgedClaim:
    """The claim with two cases, N3 and N5."""
    claim = read_claims("p", ONE).claims[0]
    findings = tuple(map(small, at_small))
    details = tuple(CaseDetails("", (), (), of) for of in there)
    return JudgedClaim(claim, *verdict_of(claim, findings), findings, (), Estimate(0.0), details)


UP, DOWN = full(HOLDS, 1, 2, 3), full(FAILS, -1, -2, -3.5)
MIXED = full(OPEN, 1, -2, 3, why="seeds disagree")
FEW = full(OPEN, 1, why="1 seed of at least 3", untested=True)


def test_cases_that_hold_at_one_scale_alone_contradict() -> None:
    one = judged((HOLDS, HOLDS), (DOWN, UP))
    (against,) = contradict([one])
    assert (against.case.name, against.full) == ("N3", DOWN)
    assert not contradict([judged((OPEN, FAILS), (DOWN, MIXED))])
    assert len(contradict([judged((FAILS, HOLDS), (UP, DOWN))])) == 2
    assert [pair.case.name for pair in pairs([judged((HOLDS, HOLDS), (NO_FINDING, UP))])] == ["N5"]


def test_a_claim_has_a_verdict_of_the_cases_with_enough_seeds() -> None:
    assert verdict_at_papers_scale(judged((HOLDS, HOLDS), (UP, UP))) == (HOLDS, "")
    assert verdict_at_papers_scale(judged((HOLDS, HOLDS), (UP, FEW))) == (HOLDS, "1 of 2 cases")
    assert verdict_at_papers_scale(judged((HOLDS, HOLDS), (UP, DOWN))) == (
        "holds only where N3",
        "",
    )
    assert verdict_at_papers_scale(judged((HOLDS, HOLDS), (NO_FINDING, FEW))) == ("", "")
    found = counts([judged((HOLDS, HOLDS), (UP, DOWN)), judged((HOLDS, HOLDS), (FEW, UP))])
    assert (found.claims, found.complete, found.against) == (2, 1, 1)
    assert dict(found.by_verdict) == {"holds only where": 1, HOLDS: 1}


def test_seeds_in_words() -> None:
    assert by_seed(DOWN) == "-1, -2, -3.5 (mean -2.17)"
    assert (by_seed(FEW), by_seed(NO_FINDING)) == ("1", "–")
    assert [signs(one) for one in (UP, DOWN, MIXED)] == [EVERY, NONE, APART]
    assert (signs(FEW), signs(NO_FINDING)) == ("1 seed of at least 3", "–")
    assert signs(full(OPEN, 0, 0, 0, why=SAME, untested=True)) == SAME
    assert signs(DOWN._replace(against="b")) == f"{NONE}: against b"
    assert signs(MIXED._replace(against="b")) == f"{APART}: against b"


def test_what_the_second_scale_changes_is_counted() -> None:
    found = [
        judged((HOLDS, FAILS), (DOWN, DOWN)),
        judged((OPEN, OPEN), (DOWN, UP)),
        judged((HOLDS, OPEN), (MIXED, FEW)),
    ]
    details = tuple(CaseDetails("", (), (), UP) for _ in range(2))
    found += [found[0]._replace(findings=(Finding(OPEN), Finding(OPEN)), details=details)]
    assert in_short(found) == [
        "Of 8 cases, 8 are told at the papers' own scale too, 7 of them under enough seeds.",
        "1 confirm the verdict of the small scale, and 1 contradict it.",
        "2 that were undecided at the small scale are decided: 1 hold, 1 do not (more-models N3).",
        "2 that were not run at the small scale are decided: 2 hold, 0 do not.",
        "1 that were decided differ from seed to seed (more-models N3).",
    ]
