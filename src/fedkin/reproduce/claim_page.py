"""The claims and their verdicts as a page, and the numbers behind them as CSV and JSON."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedkin.reproduce.claim import Case, Register
from fedkin.reproduce.claim_html import html
from fedkin.reproduce.claim_numbers import NUMBERS
from fedkin.reproduce.claim_runs import Judged
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, ONLY, OPEN, Finding
from fedkin.reproduce.claim_words import HOW, bound, legend, measured, verdict
from fedkin.reproduce.finished_rows import CLAIMS
from fedkin.runs.outside import write_outside

VERDICTS = (HOLDS, ONLY, FAILS, OPEN)
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
)


def lines(found: Sequence[Judged]) -> list[dict[str, Any]]:
    """One line a case, plain values; nan is None."""
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
            "rows": " ".join(name.replace(" ", "_") for name in case.needs),
        }
        for one in found
        for case, finding in zip(one.claim.cases, one.findings, strict=True)
    ]


def write(
    register: Register, found: Sequence[Judged], scale: str, asked: str, out: Path
) -> list[Path]:
    """claims.md, claims.html, claims.csv and claims.json in ``out``."""
    cases = lines(found)
    table = io.StringIO()
    writer = csv.DictWriter(table, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cases)
    whole = {
        "scale": scale,
        "asked": asked,
        "claims": [_whole(one) for one in found],
        "cases": cases,
    }
    made = {
        "claims.md": markdown(register, found, scale, asked),
        "claims.html": html(register, found, scale, asked),
        CLAIMS: table.getvalue(),
        "claims.json": json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    return [write_outside(out / name, text) for name, text in made.items()]


def markdown(register: Register, found: Sequence[Judged], scale: str, asked: str) -> str:
    """How many claims hold, then the claims paper by paper, with what was measured of each."""
    text = ["# What the papers claim, and what holds here", ""]
    text += [
        f"Scale: {scale}. Made by `{asked}`.",
        "",
        *legend(scale),
        "",
        *_counts(register, found),
        "",
    ]
    for paper, title in register.titles.items():
        text += [f"## {title}", ""]
        for one in (one for one in found if one.claim.paper == paper):
            text += [*_claim(one), ""]
    return "\n".join(text)


def _counts(register: Register, found: Sequence[Judged]) -> list[str]:
    head = ["| paper | claims | " + " | ".join(VERDICTS) + " |", "|---" * (2 + len(VERDICTS)) + "|"]
    for paper in register.titles:
        count = Counter(one.verdict for one in found if one.claim.paper == paper)
        head.append(
            f"| {paper} | {count.total()} | "
            + " | ".join(str(count[each]) for each in VERDICTS)
            + " |"
        )
    count = Counter(one.verdict for one in found)
    return [
        *head,
        f"| all | {count.total()} | " + " | ".join(str(count[each]) for each in VERDICTS) + " |",
    ]


def _claim(one: Judged) -> list[str]:
    claim = one.claim
    text = [f"**{claim.id}: {verdict(one)}.** {claim.says} ({claim.where})"]
    text += [claim.note] if claim.note else []
    pairs = list(zip(claim.cases, one.findings, strict=True))
    if measured := [_line(case, finding) for case, finding in pairs if finding.seeds]:
        head = ["| case | what | measured | seeds | verdict |", "|---|---|---|---|---|"]
        text += ["", *head, *measured]
    lacking = [case.name for case, finding in pairs if not finding.seeds]
    if lacking and len(claim.cases) > 1:
        text += ["", f"Cases that were not run: {'; '.join(lacking)}."]
    if one.cost.seconds > 0:
        text += ["", f"The runs that are missing: {one.cost} of processor time."]
    return text + [f"Not run: {reason}" for reason in one.missing if reason != "not run yet"]


def _line(case: Case, finding: Finding) -> str:
    what = f"{HOW[case.kind]}: {NUMBERS[case.measure][0]}{bound(case)}"
    found = f"{finding.verdict}: {finding.why}" if finding.why else finding.verdict
    return f"| {case.name or 'all'} | {what} | {measured(finding)} | {finding.seeds} | {found} |"


def _whole(one: Judged) -> dict[str, Any]:
    claim = one.claim
    return {
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "says": claim.says,
        "note": claim.note,
        "verdict": one.verdict,
        "holds_where": list(one.where),
        "missing": list(one.missing),
        "missing_seconds": _plain(one.cost.seconds),
        "estimate_is_rough": one.cost.rough,
    }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
