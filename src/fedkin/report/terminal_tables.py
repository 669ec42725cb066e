"""Tables for the terminal: rich renderables for ``fedkin show``."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedkin.report import formatting
from fedkin.report.comparison.fitting import Fitting
from fedkin.report.comparison.sheet import Sheet
from fedkin.report.intervals import FEW
from fedkin.report.newcomers import newcomers_measure
from fedkin.report.summary import other_measures
from fedkin.report.words import run_words

WAYS = ("up", "down", "total")
FIRST = 5  # worst clients, or clients left out, that are listed
VALUES = 8  # clients whose last value of a method's is shown


def show(summary: Mapping[str, Any]) -> RenderableType:
    """What ``fedkin show DIR`` prints, from a ``summary``.

    Args:
        summary: The numbers of a run, as ``report.summary`` gives them.

    Returns:
        What rich prints.
    """
    parts: list[RenderableType] = [_head(summary)]
    if summary["loss"]:
        parts.append(_headline(summary))
        parts += [_worst(summary)] if summary["worst_clients"] else []
    else:
        parts.append(Text("Nothing was evaluated yet."))
    if any(summary["measures"].values()):
        parts.append(_measures(summary))
    if summary["unseen"]:
        parts.append(_unseen(summary["unseen"]))
    parts.append(_communication(summary))
    if summary["missing"]:
        parts.append(_missing(summary["missing"]))
    if summary["extras"]:
        parts.append(_extras(summary["extras"]))
    return Group(*parts)


def _head(summary: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # a fingerprint is one word, and is to be copied whole
    clients = formatting.many(summary["clients"], "client")
    time = {name: formatting.seconds(value) for name, value in summary["seconds"].items()}
    parts = ", ".join(f"{name} {time[name]}" for name in ("local", "server", "evaluation"))
    facts = {
        "run": summary["run"],
        "method": f"{summary['method']} ({formatting.plain(summary['hyper'] or {})})",
        "data": f"{run_words.data_name(summary)}, split {run_words.split(summary)}, {clients}, "
        f"model {summary['model']}",
        "rounds": f"{run_words.progress(summary)}, seed {summary['seed']}, participation "
        f"{summary['participation']}",
        "time": f"{time['total']} in all, {time['per_round']} a round ({parts})",
        "fingerprint": summary["fingerprint"] or formatting.NONE,
    }
    if summary["privacy"] is not None:
        facts["privacy"] = run_words.privacy(summary["privacy"])
    if summary["honest"] is not None:
        facts["honest"] = _honest(summary)
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(str(value)))
    return table


def _honest(summary: Mapping[str, Any]) -> str:
    """The means over clients that do not attack."""
    honest, measure = summary["honest"], summary["measure"]
    shown = ", ".join(
        f"{view} {formatting.label(measure)} {formatting.value(measure, mean)}"
        for view, mean in honest["views"].items()
        if mean is not None
    )
    return f"{shown} over {honest['clients']} clients; {honest['attackers']} attack"


def _headline(summary: Mapping[str, Any]) -> Fitting:
    measure = summary["measure"]
    title = f"Test {formatting.label(measure)} over clients"
    rows = []
    for view, picks in summary["headline"].items():
        for pick, name in formatting.PICKS.items():
            numbers = picks[pick]
            if numbers is not None:
                cells = [formatting.value(measure, numbers[key]) for key in formatting.SPREADS]
                interval = formatting.interval(measure, numbers.get("interval"))
                at = formatting.at_round(numbers["round"], summary["planned"])
                rows.append([view, name, at, *cells, interval])
    for name, numbers in summary["baselines"].items():
        cells = [formatting.value(measure, numbers[key]) for key in formatting.SPREADS]
        interval = formatting.interval(measure, numbers["interval"])
        rows.append(["baseline", formatting.BASELINES[name], "", *cells, interval])
    caption = "\n".join([*run_words.remarks(summary), formatting.PRINTED])
    numbers = ["round", *formatting.SPREADS.values(), "95% interval"]
    return _table(title, ["view", "round is"], numbers, rows, caption)


def _worst(summary: Mapping[str, Any]) -> Fitting:
    measure, worst = summary["measure"], summary["worst_clients"]
    rows = [
        [
            one["client"],
            f"{one['test']:,}" + (" (few)" if one["few"] else ""),
            formatting.value(measure, one["value"]),
            formatting.interval(measure, one["interval"]),
        ]
        for one in worst[:FIRST]
    ]
    more = f"{len(worst) - FIRST} more; " if len(worst) > FIRST else ""
    few = sum(one["few"] for one in worst)
    caption = more.removesuffix("; ")
    if few:
        rule = f"few: fewer than {FEW} test rows, whose number may be chance"
        caption = f"{more}{rule} ({few} of {len(worst)})"
    how = "simultaneous" if measure == "accuracy" else "approximate"
    numbers = ["test rows", formatting.label(measure), f"{how} 95% interval"]
    return _table("The worst decile, client by client", ["client"], numbers, rows, caption)


def _unseen(summary: Mapping[str, Any]) -> Fitting:
    measure = newcomers_measure(summary)
    form = formatting.percent_or_dash if measure == "accuracy" else formatting.decimal
    who = f"clients that were not in the run ({summary['clients']} held out)"
    title = f"Test {formatting.label(measure)} of {who}"
    rows = []
    for one in summary["by_labels"]:
        asked = f"all (mean {one['labels']:.0f})" if one["asked"] is None else str(one["asked"])
        spread = one[measure]
        cells = [form(spread[key]) for key in formatting.SPREADS]
        rows.append([asked, str(spread["clients"]), *cells])
    numbers = ["clients", *formatting.SPREADS.values()]
    return _table(title, ["labelled samples"], numbers, rows)


def _measures(summary: Mapping[str, Any]) -> Fitting:
    columns = [*formatting.SPREADS.values(), "clients"]
    rows, names = [], []
    for view, measures in other_measures(summary).items():
        for name, numbers in measures.items():
            cells = formatting.spread(name, numbers)
            rows.append([view, formatting.label(name), *cells, str(numbers["clients"])])
            names.append(name)
    title = "Other test measures over clients, final"
    return _table(title, ["view", "measure"], columns, rows, formatting.others(names))


def _communication(summary: Mapping[str, Any]) -> Fitting:
    sent = summary["communication"]
    rows = []
    for rule, meaning in (
        ("paper", "paper (one copy of a broadcast)"),
        ("unicast", "unicast (every message)"),
    ):
        part = sent[rule]
        rows.append([meaning, "scalars", *(formatting.count(part["scalars"][way]) for way in WAYS)])
        rows.append(["", "bytes", *(formatting.size(part["bytes"][way]) for way in WAYS)])
    for phase in ("setup", "finish"):
        part = sent[phase]["unicast"]["bytes"]
        if part["total"]:
            cells = [formatting.size(part[way]) for way in WAYS]
            rows.append([f"{phase} (not in the totals)", "bytes", *cells])
    moved = sent.get("moved")
    if moved and moved["messages"] and moved["bytes"] != sent["unicast"]["bytes"]["up"]:
        meaning = f"moved by the engine ({formatting.many(moved['messages'], 'message')} up)"
        rows.append([meaning, "bytes", formatting.size(moved["bytes"]), "", ""])
    apart = sent["setup"]["unicast"]["bytes"]["total"]
    title = "Communication (setup excluded)" if apart else "Communication"
    return _table(title, ["counted", "unit"], WAYS, rows)


def _missing(events: Sequence[Mapping[str, Any]]) -> Fitting:
    rows = [
        [str(event["round"]), event["client"], event["reason"] or ""] for event in events[:FIRST]
    ]
    title = f"Clients left out: {formatting.many(len(events), 'time')}"
    return _table(title, ["round", "client", "reason"], (), rows)


def _extras(extras: Mapping[str, Mapping[str, Any]]) -> Fitting:
    rows = []
    for name, values in extras.items():
        remarks = [
            f"{client}: {formatting.plain(value)}"
            for client, value in list(values.items())[:VALUES]
        ]
        more = f" … ({len(values)} in all)" if len(values) > VALUES else ""
        rows.append([name, "; ".join(remarks) + more])
    return _table("What the method records", ["name", "last values"], (), rows)


def _table(
    title: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    rows: list[list[str]],
    caption: str = "",
) -> Fitting:
    return Fitting(Sheet(title, [*texts, *numbers], rows, len(texts), caption))
