"""The claims and their verdicts as a page, and the numbers behind them as CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.reproduce.claim import Register
from fedkin.reproduce.claim_html import html
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
from fedkin.reproduce.finished_rows import CLAIMS
from fedkin.reproduce.from_files.both_scales import (
    LEGEND,
    PAPERS_SCALE,
    in_short,
    pairs,
    verdict_at_papers_scale,
)
from fedkin.reproduce.from_files.kept_verdicts import AND, LACKING, REASONS
from fedkin.runs.output_files import write_outside

FIELDS = (
    "paper",
    "claim",
    "case",
    "verdict",
    "kind",
    "measure",
    "effect",
    "low",
    "high",
    "seeds",
    "why",
    "rows",
    "settings",
    LACKING,
    REASONS,
    "full_verdict",
    "full_mean",
    "full_by_seed",
    "full_seeds",
    "full_why",
)
LATER = "not run yet"  # no reason


def lines(judged: Sequence[JudgedClaim]) -> list[dict[str, Any]]:
    """One line a case, plain values; nan is None. What begins with full_ is at the papers' own
    scale: by seed, without an interval.

    Args:
        judged: Claims with their verdicts.

    Returns:
        A dict a case.
    """
    return [
        {
            "paper": one.claim.paper,
            "claim": one.claim.id,
            "case": case.name,
            "verdict": finding.verdict,
            "kind": case.kind,
            "measure": case.measure,
            "effect": _plain(finding.effect),
            "low": _plain(finding.low),
            "high": _plain(finding.high),
            "seeds": finding.seeds,
            "why": finding.why,
            "rows": " ".join(_written(case.needs)),
            "settings": details.settings,
            LACKING: _written(details.lacking),
            REASONS: [reason for reason in details.reasons if reason != LATER],
            "full_verdict": details.full.verdict if details.full.seeds else "",
            "full_mean": _plain(details.full.effect),
            "full_by_seed": list(details.full.means),
            "full_seeds": details.full.seeds,
            "full_why": details.full.why,
        }
        for one in judged
        for case, finding, details in zip(one.claim.cases, one.findings, one.details, strict=True)
    ]


def _written(names: Sequence[str]) -> list[str]:
    """A row's name is one word."""
    return [name.replace(" ", "_") for name in names]


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    """A line without lists."""
    joined = {LACKING: " ", REASONS: AND, "full_by_seed": " "}
    return line | {key: by.join(map(str, line[key])) for key, by in joined.items()}


def write(
    register: Register, judged: Sequence[JudgedClaim], scale: str, asked: str, out: Path
) -> list[Path]:
    """Write claims.md, claims.html, claims.csv and claims.json.

    Args:
        register: The claims that were asked about.
        judged: Each with its verdict.
        scale: "small" or "full".
        asked: The command that made it.
        out: The folder of the files.

    Returns:
        The four paths.

    Raises:
        FedkinError: A file cannot be written.
    """
    cases = lines(judged)
    table = io.StringIO()
    writer = csv.DictWriter(table, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_flat, cases))
    whole = {
        "scale": scale,
        "asked": asked,
        "claims": [_whole(one) for one in judged],
        "cases": cases,
    }
    made = {
        "claims.md": markdown(register, judged, scale, asked),
        "claims.html": html(register, judged, scale, asked),
        CLAIMS: table.getvalue(),
        "claims.json": json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    return [write_outside(out / name, text) for name, text in made.items()]


def markdown(register: Register, judged: Sequence[JudgedClaim], scale: str, asked: str) -> str:
    """How many claims hold, then the claims paper by paper, with what was measured of each.

    Args:
        register: The claims that were asked about.
        judged: Each with its verdict.
        scale: "small" or "full".
        asked: The command that made it.

    Returns:
        The page.
    """
    text = [f"# {TITLE}", ""]
    text += [f"Scale: {scale}. Made by `{asked}`.", ""]
    text += [f"{ONE_CLAIM} `{OF_ONE_CLAIM}`.", ""]
    has_full_scale = any(pairs(judged))
    text += [f"**In short.** {lead(judged, scale)}", "", *_counts(register, judged), ""]
    text += [*_counts_there(register, judged), "", *_disagree(judged), ""] if has_full_scale else []
    text += ["## How to read this page", "", *legend(scale), ""]
    text += [*LEGEND, ""] if has_full_scale else []
    for paper, title in register.titles.items():
        text += [f"## {title}", ""]
        own = [one for one in judged if one.claim.paper == paper]
        if paper in register.said and any(pairs(own)):
            text += [register.said[paper], ""]
        for one in own:
            text += [*_claim(one), ""]
    return "\n".join(text)


def _disagree(judged: Sequence[JudgedClaim]) -> list[str]:
    """Where the papers' own scale says something else: near the top, for a reader asks it."""
    text = [f"- {line}" for line in in_short(judged)]
    rows = against(judged)
    if not rows:
        return text
    return [*text, "", "Where the two contradict each other:", "", *_table(AGAINST, rows)]


def _counts_there(register: Register, judged: Sequence[JudgedClaim]) -> list[str]:
    head = (PAPERS_SCALE, "claims told", "in all cases", *VERDICTS, "cases against the small scale")
    return _table(head, by_paper_at_papers_scale(register, judged))


def _counts(register: Register, judged: Sequence[JudgedClaim]) -> list[str]:
    return _table(("paper", "claims", *VERDICTS), by_paper(register, judged))


def _table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> list[str]:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]


def _claim(one: JudgedClaim) -> list[str]:
    claim = one.claim
    text = [f"**{claim.id}: {verdict(one)}.** {claim.says} ({claim.where})"]
    text += [claim.note] if claim.note else []
    there, of = verdict_at_papers_scale(one)
    text += [f"At the {PAPERS_SCALE}: **{there}**{f' ({of})' if of else ''}."] if there else []
    each = list(zip(claim.cases, one.findings, one.details, strict=True))
    has_full_scale = any(details.full.seeds for _, _, details in each)
    shown = [one for one in each if one[1].seeds or one[2].full.seeds]
    if shown:
        head = ["case", "what", "measured", "seeds", "verdict"]
        head += [f"{PAPERS_SCALE}, by seed", "verdict there"] if has_full_scale else []
        text += ["", *_table(head, [case_cells(*one)[: len(head)] for one in shown])]
    lacking = [case.name for case, finding, _ in each if not finding.seeds]
    if lacking and len(claim.cases) > 1:
        text += ["", f"Cases that were not run: {'; '.join(lacking)}."]
    if one.cost.seconds > 0:
        text += ["", f"The runs that are missing: {one.cost} of processor time."]
    return text + [f"Not run: {reason}" for reason in one.missing if reason != LATER]


def _whole(one: JudgedClaim) -> dict[str, Any]:
    claim = one.claim
    there, _ = verdict_at_papers_scale(one)
    return {
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "says": claim.says,
        "note": claim.note,
        "verdict": one.verdict,
        "holds_where": list(one.where),
        "full_verdict": there,
        "missing": list(one.missing),
        "missing_seconds": _plain(one.cost.seconds),
        "estimate_is_rough": one.cost.rough,
    }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
