"""The report page as text: head line, key numbers, figures, tables, settings, from one run's
records.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

from fedkin.report import formatting
from fedkin.report.collaboration import groups_of, read_collaboration
from fedkin.report.matrix import Matrix, among, measured
from fedkin.report.page.client_file import client_rows
from fedkin.report.page.client_table import client_table
from fedkin.report.page.clinical import case_of, clinical
from fedkin.report.page.document import document, places
from fedkin.report.page.figures import content_of, page_figures
from fedkin.report.page.gain import gain_of
from fedkin.report.page.lead import lead
from fedkin.report.page.next_steps import box, next_steps
from fedkin.report.page.tables import (
    communication_table,
    measure_table,
    score_table,
    section,
    table,
)
from fedkin.report.panel import Panel, panel_of
from fedkin.report.records import Run
from fedkin.report.summary import extras, of_run
from fedkin.report.words import run_words
from fedkin.report.words.deployed import shares_of

FIRST = ("clients", "rounds")  # the figures that come before the tables
MOST_MISSING = 200  # absences that are listed
BAR = (
    '<div id="chosen" role="status" hidden><span></span> <a href="#own">its own view</a> '
    '<button type="button" id="forget">show all</button></div>'
)
FINDER = (
    '<p class="find"><label>Choose a client: <input id="find" list="names" '
    'autocomplete="off"></label></p>'
)
PRINT = (
    '<p class="find"><button type="button" id="print">One-page summary (print or save as PDF)'
    "</button></p>"
)


class Pages(NamedTuple):
    """report.html; and clients.csv, where the page does not show every client."""

    html: str
    clients: str | None


def pages(run: Run) -> Pages:
    """What ``fedkin report`` writes.

    Args:
        run: An open run.

    Returns:
        The page, and the table of clients where it does not show all.
    """
    summary = of_run(run)
    what, matrices = measured(run, summary)
    panel = panel_of(run, matrices)
    shares = shares_of(summary)
    clients = None if panel is None else client_rows(run, what, matrices, shares)
    return Pages(_page(run, summary, what, matrices, panel), clients)


def page(run: Run) -> str:
    """report.html alone: what ``fedkin watch`` shows.

    Args:
        run: An open run.

    Returns:
        HTML, which needs no network.
    """
    return pages(run).html


def _page(
    run: Run, summary: dict[str, Any], what: str, matrices: dict[str, Matrix], panel: Panel | None
) -> str:
    gain = gain_of(run, summary)
    drawn = page_figures(run, summary, what, matrices, gain, panel)
    shown, some, panel_words, table_summary = run, matrices, "", summary
    if panel is not None:
        shown, some, panel_words = (
            run.narrowed(panel.clients),
            among(matrices, panel.clients),
            panel.said,
        )
        table_summary = {**summary, "extras": extras(shown)}
    # of a panel they say nothing
    groups = groups_of(read_collaboration(run)) if panel is None else None
    title = f"{summary['method']} on {run_words.data_name(summary)}"
    parts = [
        f'<header class="summary">{_head(summary, title)}{lead(summary, gain)}{_warnings(summary)}',
        f"{box(next_steps(run, summary, gain, groups))}</header>",
        '<main class="summary">',
        BAR,
        FINDER if run.clients else "",
        PRINT if summary["headline"] else "",
        '<section id="own" hidden><h2></h2><dl class="keys"></dl>',
        *places(drawn.own, 3),
        "</section>",
        *places([figure for figure in drawn.figures if figure.name in FIRST]),
        client_table(shown, table_summary, what, some, gain, panel_words),
        clinical(summary, case_of(run), [client.test for client in run.clients.values()]),
        score_table(summary),
        measure_table(summary),
        *places([figure for figure in drawn.figures if figure.name not in FIRST]),
        communication_table(summary["communication"]),
        _left_out(summary["missing"]),
        _settings(run),
        "</main>",
    ]
    return document(title, parts, content_of([*drawn.figures, *drawn.own]))


def _head(summary: Mapping[str, Any], title: str) -> str:
    hyperparameters = {
        name: value for name, value in (summary["hyper"] or {}).items() if value is not None
    }
    hyper = formatting.plain(hyperparameters)
    remarks = [
        formatting.many(summary["clients"], "client"),
        f"split {run_words.split(summary)}",
        f"model {summary['model']}",
        f"participation {summary['participation']}",
        f"seed {summary['seed']}",
        run_words.progress(summary),
    ]
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(' · '.join(remarks))}</p>"]
    parts.append(f'<p class="soft">{escape(hyper)}</p>' if hyper else "")
    if summary["privacy"] is not None:
        parts.append(f"<p>{escape(run_words.privacy(summary['privacy']))}</p>")
    if not summary["finished"]:
        parts.append(
            '<p class="warn">This run is not finished: its numbers are those of the last '
            "committed round.</p>"
        )
    return "\n".join(parts)


def _warnings(summary: Mapping[str, Any]) -> str:
    """What may mislead about the numbers above, a sentence each."""
    sentences = [
        *summary["warnings"],
        *run_words.diverged_views(summary),
        *run_words.evaluation_remarks(summary),
    ]
    whole = [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences]
    return "\n".join(f'<p class="warn">{escape(sentence)}</p>' for sentence in whole)


def _left_out(missing: list[dict[str, Any]]) -> str:
    if not missing:
        return ""
    rows = [
        [event["round"], event["client"], event["reason"] or ""] for event in missing[:MOST_MISSING]
    ]
    note = formatting.many(len(missing), "time") + (
        f"; the first {MOST_MISSING} are shown." if len(missing) > MOST_MISSING else "."
    )
    head = [("round", "n"), ("client", ""), ("reason", "long")]
    return section("left-out", "Clients left out", note, table(head, rows), tall=True)


def _settings(run: Run) -> str:
    spec = json.dumps(run.facts.get("spec"), indent=2, ensure_ascii=False)
    versions = formatting.plain(run.facts.get("versions") or {}) or formatting.NONE
    return (
        f"<section><h2>Settings</h2><p>Versions: {escape(versions)}</p>"
        '<p class="soft">Fingerprint: '
        f"{escape(str(run.facts.get('fingerprint') or formatting.NONE))}</p>"
        "<details><summary>The resolved "
        f"specification</summary><pre>{escape(spec)}</pre></details></section>"
    )
