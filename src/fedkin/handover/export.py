"""Write personal models out of a run: a file and a card each; the file gives what the model gave in the run."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.tree import is_buffer, named_leaves
from fedkin.engine.store import write_file
from fedkin.handover.card import as_markdown, card_of
from fedkin.handover.formats import FORMATS
from fedkin.handover.opened import Opened

SAMPLES = 256  # test samples on which a file is compared with the model in the run
TOLERANCE = 1e-4  # of log-probabilities: other programs sum in another order

USE = {
    "safetensors": "`model.safetensors` holds the tensors: `safetensors.torch.load_file`, then `load_state_dict` of a "
    "module of this architecture.",
    "pt2": '`model.pt2` is a program: `torch.export.load("model.pt2").module()(x)`.',
    "onnx": '`model.onnx` is a program: `onnxruntime.InferenceSession("model.onnx").run(["y"], {"x": x})`.',
}


class Written(NamedTuple):
    """One exported model. ``apart``: its largest difference from the run on test samples, None where it is tensors."""

    client: str
    folder: Path
    apart: float | None


def export(opened: Opened, client: int, format: str, out: Path) -> Written:
    """Write ``model.FORMAT``, ``card.md`` and ``card.json`` into the folder ``out``.

    Raises FedkinError where the file would not give the outputs that the model gave in the run.
    """
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    population = opened.parts.population
    card = card_of(opened.folder, client, population)
    view, personal = opened.view(client), opened.personal(client)
    x = _samples(opened, client)
    card["format"], card["file"] = format, USE[format] + _mixture(view, format)
    made = FORMATS[format](personal, view, x, card)
    apart = None
    if made.run is not None:
        with torch.no_grad():
            apart = float((made.run(x) - personal(x)).abs().max())
        if not apart <= TOLERANCE:
            raise FedkinError(f"{format}: the file of client {card['client']} is {apart:g} away from the run's model")
        card["largest_difference"], card["compared_samples"] = apart, len(x)
        card["file"] += f" On {len(x)} samples its outputs are within {apart:.1g} of the model's in the run."
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_file(out / f"model.{format}", made.content)
        write_file(out / "card.json", json.dumps(card, indent=1, ensure_ascii=False).encode())
        write_file(out / "card.md", as_markdown(card).encode())
    except OSError as error:
        raise FedkinError(f"{out} cannot be written: {error.strerror}") from None
    return Written(card["client"], out, apart)


def _samples(opened: Opened, client: int) -> Tensor:
    population = opened.parts.population
    for split in ("test", "train"):
        rows = population.rows(split)[client][:SAMPLES]
        if len(rows):
            return population.x[torch.from_numpy(rows)]
    raise FedkinError(f"client {opened.names[client]} has no samples to compare its exported model on")


def _mixture(view: Any, format: str) -> str:
    """What a card says of tensors that are no single network."""
    nested = any("/" in name and not is_buffer(name) for name, _ in named_leaves(view))
    if not nested:
        return ""
    if format == "safetensors":
        return " This personal model is made of several parts; pt2 and onnx hold the program that puts them together."
    return " It computes the personal model of several parts that this method makes."
