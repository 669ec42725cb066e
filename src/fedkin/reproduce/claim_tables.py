"""The counts and the rows of tables that the page of claims has in Markdown and in a browser."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fedkin.core.errors import many
from fedkin.reproduce.claim import Case, Register
from fedkin.reproduce.claim_numbers import NUMBERS
from fedkin.reproduce.claim_runs import CaseDetails, JudgedClaim
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, ONLY, OPEN, VERDICTS, Finding
from fedkin.reproduce.claim_words import HOW, bound, measured, reached
from fedkin.reproduce.from_files.both_scales import PAPERS_SCALE, by_seed, contradict, counts, signs

TITLE = "What the papers claim, and what holds here"
AGAINST = ("claim", "case", "small scale", f"{PAPERS_SCALE}, by seed", "verdict there")


def lead(judged: Sequence[JudgedClaim], scale: str) -> str:
    """How many claims hold, in a sentence; one that is judged by the papers' own scale follows.

    Args:
        judged: Claims with their verdicts.
        scale: "small" or "full".

    Returns:
        One or two sentences.
    """
    count = Counter(one.verdict for one in judged)
    lacking = sum(
        one.verdict == OPEN and any(details.lacking for details in one.details) for one in judged
    )
    at = "the small scale" if scale == "small" else f"the {PAPERS_SCALE}"
    here = (
        f"At {at} {count[HOLDS]} of {many(len(judged), 'claim')} hold, {count[ONLY]} hold only in "
        f"the cases that are named, {count[FAILS]} do not hold, and {count[OPEN]} are undecided"
        f"{f', {lacking} of these for lack of runs' if lacking else ''}."
    )
    full = counts(judged)
    if not full.claims:
        return here
    by = full.by_verdict
    return (
        f"{here} At the {PAPERS_SCALE} {full.claims} of them are told, {full.complete} in every "
        f"case: there {by[HOLDS]} hold, {by[ONLY]} hold only in some cases, {by[FAILS]} do not "
        f"hold, and {by[OPEN]} are undecided."
    )


def by_paper(register: Register, judged: Sequence[JudgedClaim]) -> list[list[str | int]]:
    """How many claims hold: a paper a row, then all.

    Args:
        register: The claims that were asked about.
        judged: Each with its verdict.

    Returns:
        The paper, its claims, and how many of them have each of ``VERDICTS``.
    """
    rows: list[list[str | int]] = []
    for paper, own in _papers(register, judged):
        count = Counter(one.verdict for one in own)
        rows.append([paper, count.total(), *(count[each] for each in VERDICTS)])
    return rows


def by_paper_at_papers_scale(
    register: Register, judged: Sequence[JudgedClaim]
) -> list[list[str | int]]:
    """The same at the papers' own scale.

    Args:
        register: The claims that were asked about.
        judged: Each with its verdict.

    Returns:
        The paper, its claims that are told there, those told in all cases, how many have each of
        ``VERDICTS``, and how many cases contradict the small scale.
    """
    rows: list[list[str | int]] = []
    for paper, own in _papers(register, judged):
        full = counts(own)
        verdicts = (full.by_verdict[verdict] for verdict in VERDICTS)
        rows.append([paper, full.claims, full.complete, *verdicts, full.against])
    return rows


def against(judged: Sequence[JudgedClaim]) -> list[list[str]]:
    """The cases that hold at one scale and do not at the other, with the columns ``AGAINST``.

    Args:
        judged: Claims with their verdicts.

    Returns:
        A row a case, of texts.
    """
    return [
        [
            one.claim.id,
            one.case.name or "all",
            f"{measured(one.small)}: {one.small.verdict}",
            by_seed(one.full),
            signs(one.full),
        ]
        for one in contradict(judged)
    ]


class CaseCells(NamedTuple):
    """A case in a table, as texts. ``by_seed`` and ``signs`` are at the papers' own scale."""

    case: str
    what: str
    measured: str
    seeds: str
    reached: str
    by_seed: str
    signs: str


def case_cells(case: Case, finding: Finding, details: CaseDetails) -> CaseCells:
    """What was measured of a case, at both scales.

    Args:
        case: The test.
        finding: What came of it.
        details: What stands beside that.

    Returns:
        A text a column.
    """
    return CaseCells(
        case.name or "all",
        f"{HOW[case.kind]}: {NUMBERS[case.measure][0]}{bound(case)}",
        measured(finding),
        str(finding.seeds),
        reached(finding),
        by_seed(details.full),
        signs(details.full),
    )


def _papers(
    register: Register, judged: Sequence[JudgedClaim]
) -> Iterator[tuple[str, list[JudgedClaim]]]:
    for paper in register.titles:
        yield paper, [one for one in judged if one.claim.paper == paper]
    yield "all", list(judged)
