"""``fedkin reproduce claims``: what the papers say of one run against another, and whether it holds
here.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import print_notice, say

if TYPE_CHECKING:
    from fedkin.reproduce.claim import Claim, Register
    from fedkin.reproduce.claim_runs import ClaimRequest, JudgedClaim
    from fedkin.reproduce.outcome import Outcome
    from fedkin.reproduce.preset import Row

NAME = "claims"


class ClaimOptions(NamedTuple):
    """The options of the command. ``words``: only rows whose name contains one of these are run,
    and those of a claim that is called so.
    ``from_``: a folder with CSV files of finished rows, and with verdicts that were reached before.
    """

    paper: str | None
    scale: str
    seeds: int
    words: str | None
    out: Path
    changes: dict[str, Any]
    finished: bool
    dry_run: bool
    as_json: bool
    from_: Path | None = None


def judge(options: ClaimOptions) -> None:
    """Runs what is missing, judges every claim, and writes claims.md, claims.html,
    claims.csv and claims.json. With a folder of finished rows, their verdict at the papers' own
    scale stands beside each, and a kept verdict takes the place of runs that are not here.
    """
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.reproduce.claim import register
    from fedkin.reproduce.claim_page import lines, write
    from fedkin.reproduce.claim_runs import complete, judged, known_outcomes
    from fedkin.reproduce.claim_words import verdict
    from fedkin.reproduce.row_spec import check
    from fedkin.runs.output_files import make_folder
    from fedkin.runtime.progress import progress_to

    _check_folders(options)
    claims = register(options.paper)
    request = _request(options, claims)
    rows = request.rows()
    check(list(rows.values()), options.changes)
    outcome_of = known_outcomes(request, rows)
    chosen = _chosen(claims.claims, rows, options.words)
    _tell_plan(request, rows, outcome_of, chosen, options)
    if options.dry_run:
        return
    make_folder(options.out)
    if not options.finished:
        with progress_to(ThrottledLines()):
            outcome_of |= complete(
                request, chosen, {name: outcome_of[name] for name in chosen}, print_notice
            )
    judgements = judged(request, rows, outcome_of)
    written = write(claims, judgements, options.scale, _command(options), options.out)
    if options.as_json:
        print_json(
            {
                "scale": options.scale,
                "claims": [_plain(judgement) for judgement in judgements],
                "cases": lines(judgements),
            }
        )
        return
    for judgement in judgements:
        claim = judgement.claim
        print_notice(f"{claim.paper} {claim.id}: {verdict(judgement)}")
    for path in written:
        say(path)


def _request(options: ClaimOptions, claims: "Register") -> "ClaimRequest":
    """What is judged, and what is known of it from elsewhere."""
    from fedkin.reproduce.claim_runs import ClaimRequest
    from fedkin.reproduce.estimate import speed
    from fedkin.reproduce.finished_rows import read
    from fedkin.reproduce.from_files.full_scale import full_scale
    from fedkin.reproduce.from_files.kept_verdicts import kept_verdicts

    request = ClaimRequest(
        claims, options.scale, options.seeds, options.out / "runs", options.changes, speed()
    )
    if options.from_ is None:
        return request
    request = request._replace(kept_verdicts=kept_verdicts(options.from_))
    if options.scale != "small":  # at the full scale they are what the claims are judged by
        return request
    return request._replace(full_findings=full_scale(claims, read(options.from_), options.changes))


def _check_folders(options: ClaimOptions) -> None:
    """Raises FedkinError where one paper's verdicts would take the place of all that were kept."""
    from fedkin.core.errors import FedkinError

    if (
        options.paper
        and options.from_ is not None
        and options.from_.resolve() == options.out.resolve()
    ):
        raise FedkinError(
            "--out is the folder of --from, whose claims.csv has the verdicts of other papers too: "
            "leave the paper out, or name another --out"
        )


def _plain(judged: "JudgedClaim") -> dict[str, Any]:
    return {
        "paper": judged.claim.paper,
        "id": judged.claim.id,
        "verdict": judged.verdict,
        "holds_where": list(judged.where),
    }


def _chosen(
    claims: "Sequence[Claim]", rows: "dict[str, Row]", words: str | None
) -> "dict[str, Row]":
    """The rows whose name contains one of the words, and those that a claim of that name takes."""
    from fedkin.core.errors import FedkinError, some
    from fedkin.reproduce.preset import contains

    asked_words = [word.strip() for word in (words or "").split(",")]
    taken = {name for claim in claims if claim.id in asked_words for name in claim.needs}
    others = [word for word in asked_words if word not in {claim.id for claim in claims}]
    rest = None if words is None else ",".join(filter(None, others))
    chosen = {
        name: row
        for name, row in rows.items()
        if name in taken or ((rest or not taken) and contains(row, rest))
    }
    if not chosen:
        raise FedkinError(
            f"no row of the claims contains {words}, and no claim is called so: rows are "
            f"{some(rows)}"
        )
    return chosen


def _tell_plan(
    request: "ClaimRequest",
    rows: "Mapping[str, Row]",
    outcome_of: "Mapping[str, Outcome]",
    chosen: "Mapping[str, Row]",
    options: ClaimOptions,
) -> None:
    """What is finished and what is not: in full for a dry run, else in one line."""
    from fedkin.report import formatting
    from fedkin.reproduce.claim_runs import unfinished
    from fedkin.reproduce.estimate import total_of

    rows_left = unfinished(request, chosen, outcome_of)
    if options.dry_run and options.as_json:
        print_json(
            {
                "rows": [
                    _row(request, name, row, outcome_of[name], name in rows_left)
                    for name, row in chosen.items()
                ]
            }
        )
        return
    if options.dry_run:
        for name, row in chosen.items():
            done = "finished" if _finished(request, outcome_of[name]) else "kept verdicts"
            say(f"{row.name}  {request.cost(name, row) if name in rows_left else done}")
    total = total_of(request.cost(name, row) for name, row in rows_left.items())
    counts = (
        f"{formatting.many(len(request.register.claims), 'claim')}, "
        f"{formatting.many(len(rows), 'row')}"
    )
    print_notice(f"{counts}, {len(rows_left)} of them to run: processor time {total}")


def _finished(request: "ClaimRequest", outcome: "Outcome") -> bool:
    """Whether its runs are here: what is not to be run may have kept verdicts alone."""
    return len(outcome.seeds) >= request.seeds


def _row(
    request: "ClaimRequest", name: str, row: "Row", outcome: "Outcome", unfinished: bool
) -> dict[str, Any]:
    cost = request.cost(name, row)
    return {
        "row": row.name,
        "finished": not unfinished and _finished(request, outcome),
        "kept_verdicts": not unfinished and not _finished(request, outcome),
        "seeds": outcome.seeds,
        "seconds": cost.seconds,
        "estimate_is_rough": cost.rough,
    }


def _command(options: ClaimOptions) -> str:
    from fedkin.reproduce.row_spec import portable

    text = f"fedkin reproduce {NAME}" + (f" {options.paper}" if options.paper else "")
    text += f" --scale {options.scale} --seeds {options.seeds}" + (
        f" --rows {shlex.quote(options.words)}" if options.words else ""
    )
    text += "".join(
        f" --set {shlex.quote(f'{k}={v}')}" for k, v in portable(options.changes).items()
    )
    if options.from_ is not None:  # a folder of this machine alone is not named
        text += (
            f" --from {'DIR' if options.from_.is_absolute() else shlex.quote(str(options.from_))}"
        )
    return text + (" --finished" if options.finished else "")
