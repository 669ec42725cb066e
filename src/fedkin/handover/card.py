"""The card of a personal model: what it learned from, how well it does, what was told for it."""

from pathlib import Path
from typing import Any

from fedkin.core.method import KINDS
from fedkin.data.clients import Population
from fedkin.report.records import Run, number, opened
from fedkin.report.scores import measures


def card_of(folder: Path, client: int, population: Population) -> dict[str, Any]:
    """The card as plain values. Scores are of the finished run, on the client's own samples."""
    with opened(folder) as run:
        own, facts = run.clients[client], run.facts
        last = run.rows("SELECT max(round) FROM metrics")[0][0]
        return {
            "client": own.name,
            "number": client,
            "method": facts["method"],
            "hyper_parameters": facts["hyper"],
            "architecture": own.architecture,
            "family": facts["spec"]["model"].get("family"),
            "seed": facts["seed"],
            "rounds": run.committed(),
            "finished": run.finished,
            "data": {
                "name": facts["data"],
                "samples": {"train": own.train, "val": own.val, "test": own.test},
                "digest": facts["data_digest"],
            },
            "scores": {view: _scores(run, client, last, view) for view in _views(run, client, last)},
            "communicated": {way: _sent(run, client, way) for way in ("up", "down")},
            "input": _input(population),
            "output": _output(population),
            "versions": facts["versions"],
        }


def _views(run: Run, client: int, last: int) -> list[str]:
    query = "SELECT DISTINCT view FROM metrics WHERE round = ? AND client = ? ORDER BY view = 'personal' DESC, view"
    return [view for (view,) in run.rows(query, last, client)]


def _scores(run: Run, client: int, last: int, view: str) -> dict[str, Any]:
    query = "SELECT split, loss, accuracy FROM metrics WHERE round = ? AND client = ? AND view = ?"
    return {
        split: {"loss": loss, "accuracy": None if accuracy is None else number(accuracy)}
        | {name: by[client] for name, by in measures(run, last, view, split).items() if client in by}
        for split, loss, accuracy in run.rows(query, last, client, view)
    }


def _sent(run: Run, client: int, way: str) -> dict[str, int]:
    sums = ", ".join(f"coalesce(sum({kind}), 0)" for kind in ("bytes", *KINDS))
    ((total, *counts),) = run.rows(f"SELECT {sums} FROM messages WHERE client = ? AND direction = ?", client, way)
    return {"bytes": total} | {kind: count for kind, count in zip(KINDS, counts, strict=True) if count}


def _input(population: Population) -> dict[str, Any]:
    found: dict[str, Any] = {
        "shape": ["samples", *population.x.shape[1:]],
        "dtype": str(population.x.dtype).removeprefix("torch."),
    }
    if population.encoding is not None:
        found |= {"numbers": population.encoding.outputs, "columns": population.encoding.plain()}
    return found


def _output(population: Population) -> dict[str, Any]:
    if population.task == "regression":
        return {"is": "the predicted mean", "shape": ["samples", 1]}
    names = population.class_names or tuple(str(c) for c in range(population.classes))
    return {"is": "log-probabilities", "shape": ["samples", population.classes], "classes": list(names)}


def as_markdown(card: dict[str, Any]) -> str:
    """The card for people."""
    samples = card["data"]["samples"]
    hyper = ", ".join(f"{key} = {value}" for key, value in card["hyper_parameters"].items()) or "none"
    lines = [
        f"# Personal model of client {card['client']}",
        "",
        f"- method: {card['method']} ({hyper}), {card['rounds']} rounds, seed {card['seed']}"
        + ("" if card["finished"] else ", not finished"),
        f"- architecture: {card['architecture']}",
        f"- data: {Path(card['data']['name']).name}; this client's samples: {samples['train']} for training, "
        f"{samples['val']} for validation, {samples['test']} for testing",
        *[f"- {view} model on {split}: {_said(values)}" for view, scores in card["scores"].items()
          for split, values in scores.items() if split != "train"],
        *[f"- the client {word} {_kinds(card['communicated'][way])}" for way, word in
          (("up", "sent"), ("down", "received"))],
        f"- made with {', '.join(f'{name} {version}' for name, version in card['versions'].items())}",
        "",
        "## Input",
        "",
        f"`x`: {card['input']['dtype']} {card['input']['shape']}.",
        *(["", "| column | as |", "|---|---|", *map(_column, card["input"]["columns"])] if "columns" in card["input"]
          else []),
        "",
        "## Output",
        "",
        f"`y`: {card['output']['is']} {card['output']['shape']}"
        + (f", the classes {', '.join(card['output']['classes'])}." if "classes" in card["output"] else "."),
        "",
        "## File",
        "",
        card["file"],
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _said(values: dict[str, Any]) -> str:
    accuracy = "" if values["accuracy"] is None else f"accuracy {values['accuracy']:.4f}, "
    others = [f", {name} {value:.4f}" for name, value in values.items() if name not in ("loss", "accuracy") and value]
    return f"{accuracy}loss {values['loss']:.4f}{''.join(others)}" if values["loss"] is not None else "not measured"


def _kinds(sent: dict[str, int]) -> str:
    kinds = ", ".join(f"{count:,} numbers of {kind}" for kind, count in sent.items() if kind != "bytes")
    return f"{kinds}; {sent['bytes']:,} bytes" if kinds else "nothing"


def _column(feature: dict[str, Any]) -> str:
    name = str(feature["name"]).replace("|", "\\|")
    if feature["kind"] == "number":
        how = f"(x − {feature['mean']:g}) / {feature['std']:g}; missing: x = {feature['fill']:g}"
        return f"| {name} | {how}{', and a second number is 1' if feature['flag'] else ''} |"
    if feature["kind"] == "category":
        values = [*feature["values"], *(["another"] if feature["rest"] else []), *(["missing"] * feature["flag"])]
        return f"| {name} | 1 in the place of its value, 0 elsewhere: {', '.join(values)} |".replace("\n", " ")
    return f"| {name} | log(1 + times it has the word), for {len(feature['words'])} words |"
