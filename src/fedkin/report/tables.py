"""Tables for the terminal: rich renderables for ``fedkin show``."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedkin.report import words
from fedkin.report.unseen import NAMES, told_measure


def show(found: Mapping[str, Any]) -> RenderableType:
    """What ``fedkin show DIR`` prints, from a ``summary``."""
    parts: list[RenderableType] = [_head(found)]
    if found["loss"]:
        parts.append(_accuracy(found) if found["accuracy"] else _losses(found))
    else:
        parts.append(Text("Nothing was evaluated yet."))
    if any(found["measures"].values()):
        parts.append(_measures(found["measures"]))
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
    clients = words.many(found["clients"], "client")
    time = {name: words.seconds(value) for name, value in found["seconds"].items()}
    parts = ", ".join(f"{name} {time[name]}" for name in ("local", "server", "evaluation"))
    facts = {
        "run": found["run"],
        "method": f"{found['method']} ({words.plain(found['hyper'] or {})})",
        "data": f"{words.source(found)}, split {words.split(found)}, {clients}, model {found['model']}",
        "rounds": f"{words.progress(found)}, seed {found['seed']}, participation {found['participation']}",
        "time": f"{time['total']} in all, {time['per_round']} a round ({parts})",
        "fingerprint": found["fingerprint"] or words.NONE,
    }
    for name, value in facts.items():
        table.add_row(Text(name, style="bold"), Text(str(value)))
    return table


def _accuracy(found: Mapping[str, Any]) -> Table:
    table = _table("Test accuracy over clients", ["view", "round is"], ["round", *words.SPREADS.values()])
    for view, picks in found["accuracy"].items():
        for pick, name in words.PICKS.items():
            numbers = picks[pick]
            if numbers is not None:
                cells = [words.percent(numbers[key]) for key in words.SPREADS]
                table.add_row(view, name, words.at_round(numbers["round"], found["planned"]), *cells)
    table.caption = "\n".join([*words.diverged(found), words.PRINTED])
    return table


def _losses(found: Mapping[str, Any]) -> Table:
    table = _table("Test loss over clients", ["view", "round is"], ["round", *words.SPREADS.values()])
    for view, picks in found["loss"].items():
        numbers = picks["final"]
        cells = [words.decimal(numbers[key]) for key in words.SPREADS]
        table.add_row(view, "final", words.at_round(numbers["round"], found["planned"]), *cells)
    table.caption = "\n".join(words.diverged(found)) or None
    return table


def _unseen(found: Mapping[str, Any]) -> Table:
    measure = told_measure(found)
    form = words.percent if measure == "accuracy" else words.decimal
    title = f"Test {NAMES[measure]} of clients that were not in the run ({found['clients']} held out)"
    table = _table(title, ["labelled samples"], ["clients", *words.SPREADS.values()])
    for one in found["by_labels"]:
        asked = f"all (mean {one['labels']:.0f})" if one["asked"] is None else str(one["asked"])
        spread = one[measure]
        table.add_row(asked, str(spread["clients"]), *(form(spread[key]) for key in words.SPREADS))
    return table


def _measures(measures: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    table = _table("Other test measures over clients, final", ["view", "measure"], list(words.SPREADS.values()))
    for view, found in measures.items():
        for name, numbers in found.items():
            table.add_row(view, name.upper(), *(words.decimal(numbers[key]) for key in words.SPREADS))
    return table


def _communication(found: Mapping[str, Any]) -> Table:
    apart = found["communication"]["setup"]["unicast"]["bytes"]["total"]
    table = _table(
        "Communication (setup excluded)" if apart else "Communication", ["counted", "unit"], ["up", "down", "total"]
    )
    for rule, meaning in (("paper", "paper (one copy of a broadcast)"), ("unicast", "unicast (every message)")):
        part = found["communication"][rule]
        table.add_row(meaning, "scalars", *(words.count(part["scalars"][key]) for key in ("up", "down", "total")))
        table.add_row("", "bytes", *(words.size(part["bytes"][key]) for key in ("up", "down", "total")))
    for phase in ("setup", "finish"):
        sent = found["communication"][phase]["unicast"]["bytes"]
        if sent["total"]:
            table.add_row(
                f"{phase} (not in the totals)", "bytes", *(words.size(sent[k]) for k in ("up", "down", "total"))
            )
    return table


def _missing(events: Sequence[Mapping[str, Any]], most: int = 5) -> Table:
    table = _table(f"Clients left out: {words.many(len(events), 'time')}", ["round", "client", "reason"])
    for event in events[:most]:
        table.add_row(str(event["round"]), Text(event["client"]), Text(event["reason"] or ""))
    return table


def _extras(extras: Mapping[str, Mapping[str, Any]], most: int = 8) -> Table:
    table = _table("What the method tells", ["name", "last values"])
    for name, values in extras.items():
        told = [f"{client}: {words.plain(value)}" for client, value in list(values.items())[:most]]
        more = f" … ({len(values)} in all)" if len(values) > most else ""
        table.add_row(Text(name), Text("; ".join(told) + more))
    return table


def _table(title: str, texts: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table
