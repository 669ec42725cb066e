"""Tables for the terminal: rich renderables for ``fedkin show``."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedkin.report import formatting
from fedkin.report.intervals import FEW
from fedkin.report.newcomers import NAMES, newcomers_measure


def show(found: Mapping[str, Any]) -> RenderableType:
    """What ``fedkin show DIR`` prints, from a ``summary``."""
    parts: list[RenderableType] = [_head(found)]
    if found["loss"]:
        parts.append(_headline(found))
        parts += [_worst(found)] if found["worst_clients"] else []
    else:
        parts.append(Text("Nothing was evaluated yet."))
    if any(found["measures"].values()):
        parts.append(_measures(found))
    if found["unseen"]:
        parts.append(_unseen(found["unseen"]))
    parts.append(_communication(found))
    if found["missing"]:
        parts.append(_missing(found["missing"]))
    if found["extras"]:
        parts.append(_extras(found["extras"]))
    return Group(*parts)


def _head(found: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # a fingerprint is one word, and is to be copied whole
    clients = formatting.many(found["clients"], "client")
    time = {name: formatting.seconds(value) for name, value in found["seconds"].items()}
    parts = ", ".join(f"{name} {time[name]}" for name in ("local", "server", "evaluation"))
    facts = {
        "run": found["run"],
        "method": f"{found['method']} ({formatting.plain(found['hyper'] or {})})",
        "data": f"{formatting.source(found)}, split {formatting.split(found)}, {clients}, "
        f"model {found['model']}",
        "rounds": f"{formatting.progress(found)}, seed {found['seed']}, participation "
        f"{found['participation']}",
        "time": f"{time['total']} in all, {time['per_round']} a round ({parts})",
        "fingerprint": found["fingerprint"] or formatting.NONE,
    }
    if found["privacy"] is not None:
        facts["privacy"] = formatting.privacy(found["privacy"])
    if found["honest"] is not None:
        facts["honest"] = _honest(found)
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(str(value)))
    return table


def _honest(found: Mapping[str, Any]) -> str:
    """The means over clients that do not attack."""
    honest, measure = found["honest"], found["measure"]
    shown = ", ".join(
        f"{view} {formatting.label(measure)} {formatting.value(measure, mean)}"
        for view, mean in honest["views"].items()
        if mean is not None
    )
    return f"{shown} over {honest['clients']} clients; {honest['attackers']} attack"


def _headline(found: Mapping[str, Any]) -> Table:
    measure = found["measure"]
    title = f"Test {formatting.label(measure)} over clients"
    table = _table(
        title, ["view", "round is"], ["round", *formatting.SPREADS.values(), "95% interval"]
    )
    for view, picks in found["headline"].items():
        for pick, name in formatting.PICKS.items():
            numbers = picks[pick]
            if numbers is not None:
                cells = [formatting.value(measure, numbers[key]) for key in formatting.SPREADS]
                interval = formatting.interval(measure, numbers.get("interval"))
                table.add_row(
                    view,
                    name,
                    formatting.at_round(numbers["round"], found["planned"]),
                    *cells,
                    interval,
                )
    for name, numbers in found["baselines"].items():
        cells = [formatting.value(measure, numbers[key]) for key in formatting.SPREADS]
        interval = formatting.interval(measure, numbers["interval"])
        table.add_row("baseline", formatting.BASELINES[name], "", *cells, interval)
    table.caption = "\n".join([*formatting.notes_of(found), formatting.PRINTED])
    return table


def _worst(found: Mapping[str, Any], most: int = 5) -> Table:
    measure, rows = found["measure"], found["worst_clients"]
    table = _table(
        "The worst decile, client by client",
        ["client"],
        ["test rows", formatting.label(measure), "95% interval"],
    )
    for one in rows[:most]:
        table.add_row(
            Text(one["client"]),
            f"{one['test']:,}" + (" (few)" if one["few"] else ""),
            formatting.value(measure, one["value"]),
            formatting.interval(measure, one["interval"]),
        )
    more = f"{len(rows) - most} more; " if len(rows) > most else ""
    few = sum(one["few"] for one in rows)
    if few:
        said = f"{few} of {len(rows)} have few test rows, fewer than {FEW}"
        table.caption = f"{more}{said}: their numbers may be chance"
    elif more:
        table.caption = more.removesuffix("; ")
    return table


def _unseen(found: Mapping[str, Any]) -> Table:
    measure = newcomers_measure(found)
    form = formatting.percent if measure == "accuracy" else formatting.decimal
    title = (
        f"Test {NAMES[measure]} of clients that were not in the run ({found['clients']} held out)"
    )
    table = _table(title, ["labelled samples"], ["clients", *formatting.SPREADS.values()])
    for one in found["by_labels"]:
        asked = f"all (mean {one['labels']:.0f})" if one["asked"] is None else str(one["asked"])
        spread = one[measure]
        table.add_row(
            asked, str(spread["clients"]), *(form(spread[key]) for key in formatting.SPREADS)
        )
    return table


def _measures(found: Mapping[str, Any]) -> Table:
    columns = [*formatting.SPREADS.values(), "clients"]
    table = _table("Other test measures over clients, final", ["view", "measure"], columns)
    for view, measures in formatting.other_measures(found).items():
        for name, numbers in measures.items():
            cells = [formatting.value(name, numbers[key]) for key in formatting.SPREADS]
            table.add_row(view, formatting.label(name), *cells, str(numbers["clients"]))
    table.caption = formatting.OTHERS
    return table


def _communication(found: Mapping[str, Any]) -> Table:
    apart = found["communication"]["setup"]["unicast"]["bytes"]["total"]
    table = _table(
        "Communication (setup excluded)" if apart else "Communication",
        ["counted", "unit"],
        ["up", "down", "total"],
    )
    for rule, meaning in (
        ("paper", "paper (one copy of a broadcast)"),
        ("unicast", "unicast (every message)"),
    ):
        part = found["communication"][rule]
        table.add_row(
            meaning,
            "scalars",
            *(formatting.count(part["scalars"][key]) for key in ("up", "down", "total")),
        )
        table.add_row(
            "", "bytes", *(formatting.size(part["bytes"][key]) for key in ("up", "down", "total"))
        )
    for phase in ("setup", "finish"):
        sent = found["communication"][phase]["unicast"]["bytes"]
        if sent["total"]:
            table.add_row(
                f"{phase} (not in the totals)",
                "bytes",
                *(formatting.size(sent[k]) for k in ("up", "down", "total")),
            )
    moved = found["communication"].get("moved")
    if (
        moved
        and moved["messages"]
        and moved["bytes"] != found["communication"]["unicast"]["bytes"]["up"]
    ):
        meaning = f"moved by the engine ({formatting.many(moved['messages'], 'message')} up)"
        table.add_row(meaning, "bytes", formatting.size(moved["bytes"]), "", "")
    return table


def _missing(events: Sequence[Mapping[str, Any]], most: int = 5) -> Table:
    table = _table(
        f"Clients left out: {formatting.many(len(events), 'time')}", ["round", "client", "reason"]
    )
    for event in events[:most]:
        table.add_row(str(event["round"]), Text(event["client"]), Text(event["reason"] or ""))
    return table


def _extras(extras: Mapping[str, Mapping[str, Any]], most: int = 8) -> Table:
    table = _table("What the method tells", ["name", "last values"])
    for name, values in extras.items():
        remarks = [
            f"{client}: {formatting.plain(value)}" for client, value in list(values.items())[:most]
        ]
        more = f" … ({len(values)} in all)" if len(values) > most else ""
        table.add_row(Text(name), Text("; ".join(remarks) + more))
    return table


def _table(title: str, texts: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table
