"""The card of a personal model as Markdown, for people."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import many, some
from fedkin.core.escaping import markdown
from fedkin.export.card_words import legend, said_kinds, said_scores
from fedkin.export.opened_run import PERSONAL
from fedkin.report.words import run_words

OUTSIDE = (
    "this model is outside of that guarantee: it is made of its client's own rows, and epsilon "
    "says nothing of who is given this file"
)


def as_markdown(card: dict[str, Any]) -> str:
    """The card for people, who may read it as a page: strings from elsewhere are text there.

    Args:
        card: What ``card_of`` gives, with "files" and "tensors".

    Returns:
        The text of card.md.
    """
    card = {name: value if name == "files" else _text(value) for name, value in card.items()}
    lines = [
        *_model(card),
        "",
        "## Input",
        "",
        *_input(card["input"]),
        "",
        "## Output",
        "",
        *_output(card["output"]),
        "",
        "## Files",
        "",
        *[f"- `{name}`: {one['use']}" for name, one in card["files"].items()],
        *_parts(card),
        "",
    ]
    return "\n".join(lines)


def _model(card: Mapping[str, Any]) -> list[str]:
    """What it learned from, how well it does and what it cost."""
    hyper = ", ".join(
        f"{key} = {'none' if value is None else value}"
        for key, value in card["hyper_parameters"].items()
    )
    samples = card["data"]["samples"]
    privacy = card.get("privacy")
    versions = ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    return [
        f"# {_title(card)}",
        "",
        f"- method: {card['method']} ({hyper or 'none'}), {many(card['rounds'], 'round')}, seed "
        f"{card['seed']}" + ("" if card["finished"] else ", not finished"),
        *([_joined(card["joined"])] if card["joined"] else []),
        *_rounds_of(card),
        *_remembered(card),
        *([f"- deploys {card['deploys']}"] if card.get("deploys") else []),
        f"- architecture: {card['architecture']}",
        f"- data: {Path(card['data']['name']).name}; {_whose(card)} samples: "
        f"{samples['train']} for training, {samples['val']} for validation, {samples['test']} for "
        "testing",
        *_unseen_classes(card["data"].get("unseen_classes", [])),
        *[
            f"- {view} model on {split}{_mean(card)}: {said_scores(values)}"
            for view, scores in card["scores"].items()
            for split, values in scores.items()
            if split != "train"
        ],
        *([f"- {meant}"] if (meant := legend(card["scores"])) else []),
        *([f"- {card['no_scores']}"] if card.get("no_scores") else []),
        *([f"- privacy: {run_words.privacy(privacy)}"] if privacy else []),
        *([f"- {OUTSIDE}"] if privacy and card.get("outside_of_privacy") else []),
        *[
            f"- the client {word} {said_kinds(card['communicated'][way])}"
            for way, word in (("up", "sent"), ("down", "received"))
            if "communicated" in card
        ],
        f"- made with {versions}",
    ]


def _unseen_classes(classes: list[str]) -> list[str]:
    if not classes:
        return []
    return [
        f"- no training sample of the client is of class {some(classes, 10)}: what the model says "
        "of it comes from other clients, or from nowhere"
    ]


def _shared(card: Mapping[str, Any]) -> bool:
    """Whether it is no client's own."""
    return card["client"] is None


def _title(card: Mapping[str, Any]) -> str:
    if _shared(card):
        return (
            f"Shared model of {many(len(card['clients']), 'client')}: {some(card['clients'], 20)}"
        )
    return f"{card.get('view', PERSONAL).capitalize()} model of client {card['client']}"


def _whose(card: Mapping[str, Any]) -> str:
    return "all clients'" if _shared(card) else "this client's"


def _mean(card: Mapping[str, Any]) -> str:
    return ", mean over clients" if _shared(card) else ""


def _input(model_input: Mapping[str, Any]) -> list[str]:
    lines = [f"`x`: {model_input['dtype']} {model_input['shape']}."]
    if "names" in model_input:
        lines += ["", f"{model_input['encoded']}: {', '.join(model_input['names'])}."]
    if "columns" in model_input:
        lines += ["", "| column | as |", "|---|---|", *map(_column, model_input["columns"])]
    return lines


def _output(model_output: Mapping[str, Any]) -> list[str]:
    classes = (
        f", the classes {', '.join(model_output['classes'])}" if "classes" in model_output else ""
    )
    return [f"`y`: {model_output['is']} {model_output['shape']}{classes}."]


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return markdown(value)
    if isinstance(value, dict):
        return {markdown(str(name)): _text(one) for name, one in value.items()}
    return [_text(one) for one in value] if isinstance(value, list | tuple) else value


def _joined(joined: Mapping[str, int]) -> str:
    return (
        f"- was not in the run: joined after round {joined['after_round']}, worked "
        f"{many(joined['rounds'], 'round')}"
    )


def _rounds_of(card: Mapping[str, Any]) -> list[str]:
    """In how many rounds a client of the run took part."""
    if card.get("took_part") is None:
        return []
    participation = f"- took part in {card['took_part']} of {many(card['rounds'], 'round')}"
    what = f"what {card['method']} keeps of a personal model for its client alone is untrained here"
    return [f"{participation}: {what}" if card.get("untrained") else participation]


def _remembered(card: Mapping[str, Any]) -> list[str]:
    """Where the file is as private as the samples."""
    if not card.get("holds_samples"):
        return []
    what = many(card["data"]["samples"]["train"], "training sample")
    return [f"- holds features and label of each of this client's {what}: keep it as you keep them"]


def _parts(card: Mapping[str, Any]) -> list[str]:
    """The tensors of a model that is made of several parts, where a file holds them."""
    if not card["tensors"] or "model.safetensors" not in card["files"]:
        return []
    return [
        "",
        "| tensor | shape |",
        "|---|---|",
        *(f"| {one['name']} | {one['shape']} |" for one in card["tensors"]),
    ]


def _column(feature: dict[str, Any]) -> str:
    name = _cell(str(feature["name"]))
    if feature["kind"] == "number":
        scaled = (feature["mean"], feature["std"]) != (0, 1)
        how = f"(x − {feature['mean']:g}) / {feature['std']:g}" if scaled else "x as it is"
        also = ", and a second number is 1" if feature["flag"] else ""
        return f"| {name} | {how}; missing: x = {feature['fill']:g}{also} |"
    if feature["kind"] == "category":
        values = [
            *feature["values"],
            *(["another"] if feature["rest"] else []),
            *(["missing"] * feature["flag"]),
        ]
        return f"| {name} | 1 in the place of its value, 0 elsewhere: {_cell(', '.join(values))} |"
    return f"| {name} | log(1 + times it has the word), for {len(feature['words'])} words |"


def _cell(text: str) -> str:
    """Anybody's text within a row of a table."""
    return " ".join(text.split()).replace("|", "\\|")
