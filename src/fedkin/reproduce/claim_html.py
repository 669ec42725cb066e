"""claims.html: the verdicts as one page that needs nothing else, in the design of the others."""

from collections.abc import Sequence
from html import escape
from typing import Any

from fedkin.report import formatting
from fedkin.report.page.document import document
from fedkin.report.page.tables import search_bar, section, table
from fedkin.reproduce.claim import Register
from fedkin.reproduce.claim_runs import JudgedClaim
from fedkin.reproduce.claim_tables import (
    AGAINST,
    TITLE,
    against,
    by_paper,
    by_paper_at_papers_scale,
    case_cells,
    lead,
)
from fedkin.reproduce.claim_verdict import VERDICTS
from fedkin.reproduce.claim_words import OF_ONE_CLAIM, ONE_CLAIM, legend, verdict
from fedkin.reproduce.from_files.both_scales import (
    LEGEND,
    PAPERS_SCALE,
    in_short,
    pairs,
    verdict_at_papers_scale,
)


def html(register: Register, judged: Sequence[JudgedClaim], scale: str, asked: str) -> str:
    """How many claims hold, all claims, and every case that was measured; the tables sort.

    Args:
        register: The claims that were asked about.
        judged: Each with its verdict.
        scale: small or full.
        asked: The command that made it.

    Returns:
        The whole page.
    """
    parts = [
        f"<h1>{TITLE}</h1>",
        f'<p class="soft">Scale: {escape(scale)}. Made by: <code>{escape(asked)}</code></p>',
        f"<p>{ONE_CLAIM} <code>{OF_ONE_CLAIM}</code></p>",
        f'<p class="lead">{escape(lead(judged, scale))}</p>',
        f"<p>{escape(' '.join(filter(None, legend(scale))))}</p>",
        section("papers", "How many hold", "", _papers(register, judged)),
        *_there(register, judged),
        _part("claims", "The claims", _claims(judged)),
        _part("cases", "What was measured of each", _cases(judged)),
    ]
    return document(TITLE, ["<main>", *parts, "</main>"], {"figures": [], "owns": []})


def _part(name: str, title: str, content: str) -> str:
    return section(name, title, "", content, tall=True, above=search_bar(name))


def _papers(register: Register, judged: Sequence[JudgedClaim]) -> str:
    head = [("paper", ""), ("claims", "n"), *((name, "n") for name in VERDICTS)]
    return table(head, by_paper(register, judged))


def _there(register: Register, judged: Sequence[JudgedClaim]) -> list[str]:
    """How many hold at the papers' own scale, and where that contradicts the small one."""
    if not any(pairs(judged)):
        return []
    head = [(PAPERS_SCALE, ""), ("claims told", "n"), ("in all cases", "n")]
    head += [*((name, "n") for name in VERDICTS), ("cases against", "n")]
    lines = "".join(f"<li>{escape(line)}</li>" for line in in_short(judged))
    above = f"<ul>{lines}</ul><p>{escape(' '.join(LEGEND))}</p>"
    content = table(head, by_paper_at_papers_scale(register, judged))
    return [
        section("there", "At the papers' own scale", "", content, above=above),
        *_against(judged),
    ]


def _against(judged: Sequence[JudgedClaim]) -> list[str]:
    rows = against(judged)
    if not rows:
        return []
    head = [(AGAINST[0], ""), *((name, "long") for name in AGAINST[1:])]
    return [section("against", "Where the two contradict each other", "", table(head, rows))]


def _claims(judged: Sequence[JudgedClaim]) -> str:
    head = [("claim", ""), ("verdict", "long"), (PAPERS_SCALE, "long"), ("what it says", "long")]
    head += [("paper", "")]
    rows: list[list[Any]] = [
        [
            one.claim.id,
            verdict(one),
            verdict_at_papers_scale(one)[0] or formatting.NONE,
            f"{one.claim.says} ({one.claim.where}) {one.claim.note}".strip(),
            one.claim.paper,
        ]
        for one in judged
    ]
    return table(head, rows, marks=[""] * len(rows))


def _cases(judged: Sequence[JudgedClaim]) -> str:
    head = [("claim", ""), ("case", "long"), ("measured", "n"), ("verdict", "long")]
    head += [
        (f"{PAPERS_SCALE}, by seed", "long"),
        ("verdict there", "long"),
        ("what", "long"),
        ("seeds", "n"),
    ]
    rows: list[list[Any]] = [
        [
            one.claim.id,
            cells.case,
            (cells.measured, finding.effect),
            cells.reached,
            cells.by_seed,
            cells.signs,
            cells.what,
            finding.seeds,
        ]
        for one in judged
        for case, finding, details in zip(one.claim.cases, one.findings, one.details, strict=True)
        if finding.seeds or details.full.seeds
        for cells in [case_cells(case, finding, details)]
    ]
    if not rows:
        return f"<p>{formatting.NONE}: no case was run yet.</p>"
    return table(head, rows, marks=[""] * len(rows))
