"""The small scale and the papers' own, side by side: where they contradict each other, and how many
claims hold at the papers'.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fedkin.core.errors import many
from fedkin.report import formatting
from fedkin.reproduce.claim import Case, Claim
from fedkin.reproduce.claim_runs import JudgedClaim
from fedkin.reproduce.claim_verdict import (
    FAILS,
    HOLDS,
    MANY,
    ONLY,
    OPEN,
    SEEDS,
    Finding,
    needed,
    verdict_of,
)

PAPERS_SCALE = "papers' scale"
EVERY, NONE, APART = (
    "holds under every seed",
    "does not hold under any seed",
    "differs from seed to seed",
)
LEGEND = [
    "At the papers' scale the same test is made of the finished rows of the tables beside this "
    "page: one number a seed.",
    "They have no clients, so that no interval is given there: the seeds alone decide.",
    f'"{EVERY}", "{NONE}" and "{APART}" are these verdicts; with fewer than {SEEDS} seeds none is '
    "given.",
    f"An sd over seeds is judged by its interval, with at least {MANY['steadier']} seeds.",
]


class Pair(NamedTuple):
    """A case at both scales."""

    claim: Claim
    case: Case
    small: Finding
    full: Finding


class Counts(NamedTuple):
    """Of a paper, at its own scale. ``claims``: those with a case of enough seeds; ``complete``:
    those of which all cases have them. ``by_verdict``: of the cases that have them. ``against``:
    cases whose verdicts contradict each other.
    """

    claims: int
    complete: int
    by_verdict: Counter[str]
    against: int


def pairs(judged: Iterable[JudgedClaim]) -> Iterator[Pair]:
    """The cases of which there are finished rows at the papers' scale.

    Args:
        judged: Claims with their verdicts.

    Yields:
        A case that has a finding at the papers' scale.
    """
    for one in judged:
        for case, small, details in zip(one.claim.cases, one.findings, one.details, strict=True):
            if details.full.seeds:
                yield Pair(one.claim, case, small, details.full)


def contradict(judged: Iterable[JudgedClaim]) -> list[Pair]:
    """The cases that hold at one scale and do not at the other.

    Args:
        judged: Claims with their verdicts.

    Returns:
        [] where the scales agree.
    """
    return [one for one in pairs(judged) if {one.small.verdict, one.full.verdict} == {HOLDS, FAILS}]


def verdict_at_papers_scale(judged: JudgedClaim) -> tuple[str, str]:
    """The claim's verdict at the papers' scale and the cases it is of, in words; "" twice where
    none has enough seeds.

    Args:
        judged: A claim with its verdict.

    Returns:
        ("holds", "2 of 3 cases"), say.
    """
    told = _told(judged)
    if told is None:
        return "", ""
    words = f"{told.verdict} {'; '.join(told.where)}" if told.verdict == ONLY else told.verdict
    count = len(judged.claim.cases)
    return words, "" if told.cases == count else f"{told.cases} of {many(count, 'case')}"


class _Told(NamedTuple):
    """Of a claim at the papers' scale: its verdict, where it holds, and how many cases decide."""

    verdict: str
    where: tuple[str, ...]
    cases: int


def _told(judged: JudgedClaim) -> _Told | None:
    """None where no case has enough seeds."""
    enough = _enough(judged)
    if not enough:
        return None
    claim = judged.claim._replace(cases=tuple(case for case, _ in enough))
    return _Told(*verdict_of(claim, [full for _, full in enough]), len(enough))


def _enough(judged: JudgedClaim) -> list[tuple[Case, Finding]]:
    cases_and_details = zip(judged.claim.cases, judged.details, strict=True)
    return [
        (case, details.full) for case, details in cases_and_details if _decides(case, details.full)
    ]


def _decides(case: Case, full: Finding) -> bool:
    return full.seeds >= needed(case)


def counts(judged: Sequence[JudgedClaim]) -> Counts:
    """How many claims hold at the papers' scale.

    Args:
        judged: Claims with their verdicts.

    Returns:
        Numbers of claims.
    """
    told = [(len(one.claim.cases), found) for one in judged if (found := _told(one)) is not None]
    complete = sum(found.cases == cases for cases, found in told)
    by_verdict = Counter(found.verdict for _, found in told)
    return Counts(len(told), complete, by_verdict, len(contradict(judged)))


def by_seed(full: Finding) -> str:
    """The numbers of the seeds and their mean: "-5.43, -6.99, -6.91 (mean -6.44)"; of sds their
    ratio and its interval.

    Args:
        full: The finding at the papers' scale.

    Returns:
        Text; a dash where there is none.
    """
    if not full.seeds:
        return formatting.NONE
    if not full.means:
        known = math.isfinite(full.low)
        return f"{full.effect:.3g}" + (f" [{full.low:.3g}, {full.high:.3g}]" if known else "")
    each = ", ".join(f"{value:.3g}" for value in full.means)
    return f"{each} (mean {full.effect:.3g})" if full.seeds > 1 else each


def signs(full: Finding) -> str:
    """The verdict of the seeds in words.

    Args:
        full: The finding at the papers' scale.

    Returns:
        Words; a dash where there is none.
    """
    if not full.seeds:
        return formatting.NONE
    if not full.means:
        return full.why or full.verdict
    if full.untested:
        return full.why
    words = {HOLDS: EVERY, FAILS: NONE}.get(full.verdict, APART)
    return f"{words}: against {full.against}" if full.against else words


def in_short(judged: Sequence[JudgedClaim]) -> list[str]:
    """What the second scale changes, sentence by sentence.

    Args:
        judged: Claims with their verdicts.

    Returns:
        Sentences.
    """
    every = list(pairs(judged))
    total = sum(len(one.claim.cases) for one in judged)
    enough = [one for one in every if _decides(one.case, one.full)]
    decided = [one for one in enough if one.full.verdict != OPEN]
    opened = [one for one in decided if one.small.verdict == OPEN and one.small.seeds]
    new = [one for one in decided if not one.small.seeds]
    mixed = [one for one in enough if one.full.verdict == OPEN and one.small.verdict != OPEN]
    against = len(contradict(judged))
    agree = len(decided) - len(opened) - len(new) - against
    return [
        f"Of {many(total, 'case')}, {len(every)} are told at the papers' own scale too, "
        f"{len(enough)} of them under enough seeds.",
        f"{agree} confirm the verdict of the small scale, and {against} contradict it.",
        f"{len(opened)} that were undecided at the small scale are decided: {_sides(opened)}.",
        f"{len(new)} that were not run at the small scale are decided: {_sides(new)}.",
        f"{len(mixed)} that were decided differ from seed to seed{_named(mixed)}.",
    ]


def _sides(some: Sequence[Pair]) -> str:
    fails = [one for one in some if one.full.verdict == FAILS]
    return f"{len(some) - len(fails)} hold, {len(fails)} do not{_named(fails)}"


def _named(some: Iterable[Pair]) -> str:
    named = [f"{one.claim.id} {one.case.name}".strip() for one in some]
    return f" ({'; '.join(named)})" if named else ""
