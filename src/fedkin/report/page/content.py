"""The report page as text: head line, key numbers, figures, tables, settings, from one run's
records.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from fedkin.report import formatting
from fedkin.report.matrix import measured
from fedkin.report.page.document import document, places
from fedkin.report.page.figures import content_of, page_figures
from fedkin.report.page.tables import (
    client_table,
    communication_table,
    measure_table,
    score_table,
    section,
    table,
)
from fedkin.report.records import Run
from fedkin.report.summary import of_run

BAR = (
    '<div id="chosen" role="status" hidden><span></span> <a href="#own">its own view</a> '
    '<button id="forget">show all</button></div>'
)
FINDER = (
    '<p class="find"><label>Choose a client: <input id="find" list="names" '
    'autocomplete="off"></label></p>'
)


def page(run: Run) -> str:
    """The whole of report.html."""
    found = of_run(run)
    what, matrices = measured(run, found)
    drawn = page_figures(run, found, what, matrices)
    title = f"{found['method']} on {formatting.source(found)}"
    parts = [
        BAR,
        _head(found, title),
        FINDER if run.clients else "",
        score_table(found),
        measure_table(found),
        *places(drawn.figures),
        '<section id="own" hidden><h2></h2><dl class="keys"></dl>',
        *places(drawn.own),
        "</section>",
        communication_table(found["communication"]),
        client_table(run, found, what, matrices),
        _left_out(found["missing"]),
        _settings(run),
    ]
    return document(title, parts, content_of([*drawn.figures, *drawn.own]))


def _head(found: Mapping[str, Any], title: str) -> str:
    hyper = formatting.plain(found["hyper"] or {})
    told = [
        formatting.many(found["clients"], "client"),
        f"split {formatting.split(found)}",
        f"model {found['model']}",
        f"participation {found['participation']}",
        f"seed {found['seed']}",
        formatting.progress(found),
    ]
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(' · '.join(told))}</p>"]
    parts.append(f'<p class="soft">{escape(hyper)}</p>' if hyper else "")
    if found["privacy"] is not None:
        parts.append(f"<p>{escape(formatting.privacy(found['privacy']))}</p>")
    if not found["finished"]:
        parts.append(
            '<p class="warn">This run is not finished: its numbers are those of the last '
            "committed round.</p>"
        )
    said = [*found["warnings"], *formatting.diverged(found), *formatting.asked(found)]
    parts += [f'<p class="warn">{escape(sentence)}.</p>' for sentence in said]
    keys = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in _keys(found).items()
    )
    return "\n".join([*parts, f'<dl class="keys">{keys}</dl>'])


def _keys(found: Mapping[str, Any]) -> dict[str, str]:
    """The numbers that a reader looks for first."""
    keys: dict[str, str] = {}
    measure = found["measure"]
    name = formatting.label(measure)
    for view, picks in found["headline"].items():
        final, best = picks["final"], picks["best_by_validation"]
        if view == "global" and picks == found["headline"].get("personal"):
            continue
        keys[f"{view}: final test {name}, mean over clients"] = formatting.value(
            measure, final["mean"]
        )
        keys[f"{view}: final test {name}, weighted"] = formatting.value(measure, final["weighted"])
        if view == "personal":
            keys["personal: worst decile of clients"] = formatting.value(
                measure, final["worst_decile"]
            )
        if best is not None:
            keys[f"{view}: at the best round by validation, mean"] = formatting.value(
                measure, best["mean"]
            )
    for view, measures in formatting.other_measures(found).items():
        shown = [other for other in ("accuracy", "auc", "rmse", "mae", "r2") if other in measures]
        keys |= {
            f"{view}: {formatting.label(other)}, mean over clients": formatting.value(
                other, measures[other]["mean"]
            )
            for other in shown
        }
    keys["sent (unicast)"] = formatting.size(found["communication"]["unicast"]["bytes"]["total"])
    keys["scalars (paper)"] = formatting.count(found["communication"]["paper"]["scalars"]["total"])
    keys["time of a round (median)"] = formatting.seconds(found["seconds"]["per_round"])
    return keys


def _left_out(missing: list[dict[str, Any]], most: int = 200) -> str:
    if not missing:
        return ""
    rows = [[event["round"], event["client"], event["reason"] or ""] for event in missing[:most]]
    note = formatting.many(len(missing), "time") + (
        f"; the first {most} are shown." if len(missing) > most else "."
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
