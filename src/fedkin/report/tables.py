"""Tables for the terminal: rich renderables for ``fedkin show`` and ``fedkin compare``."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fedkin.report import words
from fedkin.report.compare import FINISHED, Comparison

COSTS = ("paper scalars", "unicast bytes", "seconds per round")


def show(found: Mapping[str, Any]) -> RenderableType:
    """What ``fedkin show DIR`` prints, from a ``summary``."""
    parts: list[RenderableType] = [_head(found)]
    if found["loss"]:
        parts.append(_accuracy(found) if found["accuracy"] else _losses(found))
    else:
        parts.append(Text("Nothing was evaluated yet."))
    parts.append(_communication(found))
    if found["missing"]:
        parts.append(_missing(found["missing"]))
    if found["extras"]:
        parts.append(_extras(found["extras"]))
    return Group(*parts)


def compare(found: Comparison) -> RenderableType:
    """What ``fedkin compare DIR…`` prints, from a ``comparison``."""
    runs = found.runs
    view = _view(runs)
    parts: list[RenderableType] = [_scores(runs, view), _costs(runs)]
    if len(found.seeds):
        parts.append(_seeds(found.seeds, view))
    parts += [Text(hint) for hint in found.hints]
    troubles = [f"{row['run']} is {row['state']}" for row in runs.to_dict("records") if row["state"] != FINISHED]
    parts += [Text(f"! {text}", style="yellow") for text in [*troubles, *found.warnings]]
    return Group(*parts)


def _scores(runs: pd.DataFrame, view: str) -> Table:
    shown = _score_columns(runs, view)
    title = f"Test accuracy in % over clients, {view} view, final round" if view else "Test loss, mean over clients"
    whole = (runs["state"] == FINISHED).all()
    table = _table(title, ["run", "method"] + ([] if whole else ["state"]), ["seed", "rounds", *shown.values()])
    for row in runs.to_dict("records"):
        first = [row["run"], row["method"] or words.NONE] + ([] if whole else [_state(row["state"])])
        cells = [*first, _integer(row["seed"]), _integer(row["rounds"]), *(_cell(name, row[name]) for name in shown)]
        table.add_row(*(Text(cell) for cell in cells), style=None if row["state"] == FINISHED else "dim")
    if view:
        table.caption = "by val.: weighted, at the best round by validation; global: weighted, final"
    return table


def _costs(runs: pd.DataFrame) -> Table:
    names = {name: name for name in COSTS} | {"helped": "helped %", "hurt": "hurt %"}
    shown = {name: title for name, title in names.items() if runs[name].notna().any()}
    table = _table(
        "Costs, and clients better or worse off than under local" if "helped" in shown else "Costs",
        ["run"],
        list(shown.values()),
    )
    for row in runs.to_dict("records"):
        table.add_row(Text(row["run"]), *(_cell(name, row[name]) for name in shown))
    return table


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
    table.caption = words.PRINTED
    return table


def _losses(found: Mapping[str, Any]) -> Table:
    table = _table("Test loss over clients", ["view", "round is"], ["round", *words.SPREADS.values()])
    for view, picks in found["loss"].items():
        numbers = picks["final"]
        cells = [words.decimal(numbers[key]) for key in words.SPREADS]
        table.add_row(view, "final", words.at_round(numbers["round"], found["planned"]), *cells)
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


def _seeds(seeds: pd.DataFrame, view: str) -> Table:
    shown = _score_columns(seeds, view)
    table = _table(
        "Finished runs that differ only in seed: mean ± sd over seeds", ["method", "hyper"], ["seeds", *shown.values()]
    )
    for row in seeds.to_dict("records"):
        cells = [f"{_cell(name, row[name])} ± {_cell(name, row[f'{name} sd'])}" for name in shown]
        first = [row["method"], words.plain(row["hyper"]), words.plain(row["seeds"])]
        table.add_row(*(Text(str(cell)) for cell in [*first, *cells]))
    return table


def _view(runs: pd.DataFrame) -> str:
    """The view that the table shows; "" if no run has an accuracy."""
    for view in ("personal", "global"):
        if runs[f"{view} final mean"].notna().any():
            return view
    return ""


def _score_columns(table: pd.DataFrame, view: str) -> dict[str, str]:
    """{column: heading} of the scores that are shown."""
    if not view:
        return {f"{name} loss": name for name in ("personal", "global") if table[f"{name} loss"].notna().any()}
    names = {"mean": "mean", "weighted": "weighted", "std": "std", "worst decile": "worst decile"}
    shown = {f"{view} final {name}": title for name, title in names.items()}
    shown[f"{view} best by validation weighted"] = "by val."
    if view == "personal" and table["global final weighted"].notna().any():
        shown["global final weighted"] = "global"
    return shown


def _cell(name: str, value: float) -> str:
    if name == "unicast bytes":
        return words.size(value)
    if name == "paper scalars":
        return words.count(value)
    if name == "seconds per round":
        return words.seconds(value)
    return words.decimal(value) if name.endswith("loss") else words.percent(value).removesuffix(" %")


def _state(state: str) -> str:
    return "" if state == FINISHED else state.split(":")[0]


def _integer(value: Any) -> str:
    return words.NONE if value is None or value != value else str(int(value))


def _table(title: str, texts: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for name in texts:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", overflow="fold")
    return table
