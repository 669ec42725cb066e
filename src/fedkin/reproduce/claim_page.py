"""The claims and their verdicts as a page, and the numbers behind them as CSV and JSON."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.reproduce.claim import Case, Register
from fedkin.reproduce.claim_html import html
from fedkin.reproduce.claim_numbers import NUMBERS
from fedkin.reproduce.claim_runs import About, Judged
from fedkin.reproduce.claim_tables import AGAINST, TITLE, against, by_paper, by_paper_there, lead
from fedkin.reproduce.claim_verdict import VERDICTS, Finding
from fedkin.reproduce.claim_words import (
    HOW,
    OF_ONE_CLAIM,
    ONE_CLAIM,
    bound,
    legend,
    measured,
    reached,
    verdict,
)
from fedkin.reproduce.finished_rows import CLAIMS
from fedkin.reproduce.told.both_scales import (
    LEGEND,
    THERE,
    by_seed,
    in_short,
    pairs,
    signs,
    verdict_there,
)
from fedkin.reproduce.told.kept_verdicts import AND, LACKING, REASONS
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


def lines(judged: Sequence[Judged]) -> list[dict[str, Any]]:
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
            "settings": about.settings,
            LACKING: _written(about.lacking),
            REASONS: [reason for reason in about.reasons if reason != LATER],
            "full_verdict": about.full.verdict if about.full.seeds else "",
            "full_mean": _plain(about.full.effect),
            "full_by_seed": list(about.full.means),
            "full_seeds": about.full.seeds,
            "full_why": about.full.why,
        }
        for one in judged
        for case, finding, about in zip(one.claim.cases, one.findings, one.about, strict=True)
    ]


def _written(names: Sequence[str]) -> list[str]:
    """A row's name is one word."""
    return [name.replace(" ", "_") for name in names]


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    """A line without lists."""
    joined = {LACKING: " ", REASONS: AND, "full_by_seed": " "}
    return line | {key: by.join(map(str, line[key])) for key, by in joined.items()}


def write(
    register: Register, judged: Sequence[Judged], scale: str, asked: str, out: Path
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


def markdown(register: Register, judged: Sequence[Judged], scale: str, asked: str) -> str:
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


def _disagree(judged: Sequence[Judged]) -> list[str]:
    """Where the papers' own scale says something else: near the top, for a reader asks it."""
    text = [f"- {line}" for line in in_short(judged)]
    rows = against(judged)
    if not rows:
        return text
    return [*text, "", "Where the two contradict each other:", "", *_table(AGAINST, rows)]


def _counts_there(register: Register, judged: Sequence[Judged]) -> list[str]:
    head = (THERE, "claims told", "in all cases", *VERDICTS, "cases against the small scale")
    return _table(head, by_paper_there(register, judged))


def _counts(register: Register, judged: Sequence[Judged]) -> list[str]:
    return _table(("paper", "claims", *VERDICTS), by_paper(register, judged))


def _table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> list[str]:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]


def _claim(one: Judged) -> list[str]:
    claim = one.claim
    text = [f"**{claim.id}: {verdict(one)}.** {claim.says} ({claim.where})"]
    text += [claim.note] if claim.note else []
    there, of = verdict_there(one)
    text += [f"At the {THERE}: **{there}**{f' ({of})' if of else ''}."] if there else []
    each = list(zip(claim.cases, one.findings, one.about, strict=True))
    has_full_scale = any(about.full.seeds for _, _, about in each)
    shown = [one for one in each if one[1].seeds or one[2].full.seeds]
    if shown:
        head = "| case | what | measured | seeds | verdict |"
        head += f" {THERE}, by seed | verdict there |" if has_full_scale else ""
        text += ["", head, "|---" * (7 if has_full_scale else 5) + "|"]
        text += [_line(*one, has_full_scale) for one in shown]
    lacking = [case.name for case, finding, _ in each if not finding.seeds]
    if lacking and len(claim.cases) > 1:
        text += ["", f"Cases that were not run: {'; '.join(lacking)}."]
    if one.cost.seconds > 0:
        text += ["", f"The runs that are missing: {one.cost} of processor time."]
    return text + [f"Not run: {reason}" for reason in one.missing if reason != LATER]


def _line(case: Case, finding: Finding, about: About, has_full_scale: bool) -> str:
    what = f"{HOW[case.kind]}: {NUMBERS[case.measure][0]}{bound(case)}"
    cells = [case.name or "all", what, measured(finding), str(finding.seeds), reached(finding)]
    cells += [by_seed(about.full), signs(about.full)] if has_full_scale else []
    return f"| {' | '.join(cells)} |"


def _whole(one: Judged) -> dict[str, Any]:
    claim = one.claim
    there, _ = verdict_there(one)
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
