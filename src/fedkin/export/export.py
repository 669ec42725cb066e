"""Write personal models out of a run: files and a card; each file gives what the model gave in the
run.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.escaping import markdown
from fedkin.core.files import read_file, remove_left_parts, write_file
from fedkin.core.tree import Tree, is_buffer, named_leaves
from fedkin.export.card_page import as_markdown
from fedkin.export.exportable import Exportable
from fedkin.export.formats import FORMATS, check_format
from fedkin.export.module_io import AFTER, in_words
from fedkin.runs.bounds import finite
from fedkin.runs.output_files import make_folder

TOLERANCE = 1e-4  # of log-probabilities: other programs sum in another order
ROUNDING = 1e-6  # of the largest number, in single precision: eight units of its last digit

CARD, PAGE = "card.json", "card.md"
LARGEST = 64 << 20  # bytes of it

USE = {
    "safetensors": "tensors: `safetensors.torch.load_file`, then `load_state_dict` of a "
    "module of this architecture",
    "pt2": 'a program: `torch.export.load("model.pt2").module()(x)`',
    "onnx": 'a program: `onnxruntime.InferenceSession("model.onnx").run(["y"], {"x": x})`',
}
PARTS = (
    "the parts of which this method makes the personal model, under the names below: no "
    "parameters of one module, so "
    "`load_state_dict` does not take them; pt2 and onnx hold the program that puts them together"
)


class Written(NamedTuple):
    """One exported model.

    ``client``: None where all share it. ``apart``: its largest difference from the run on test
    samples, None where it is tensors.
    """

    client: str | None
    file: Path
    apart: float | None


def export(exportable: Exportable, format: str, out: Path) -> Written:
    """Write ``model.FORMAT``, ``card.md`` and ``card.json`` into the folder ``out``.

    Files of other formats of the same model stay, and the card has them all.

    Args:
        exportable: The model.
        format: "safetensors", "pt2" or "onnx".
        out: A folder, which is made.

    Returns:
        The file, and how far its outputs are from the run's model: at most TOLERANCE, in the unit
        of standardised labels, and what numbers as large as the labels are rounded by.

    Raises:
        FedkinError: An unknown format, an extra that is not installed, a file that would not give
            the outputs that the model gave in the run, or a folder that holds another model or
            cannot be written.
    """
    check_format(format)
    client, view, personal = exportable.client, exportable.view, exportable.personal
    nested = _nested(view)
    of_run = exportable.card()
    card = finite(  # a card is JSON, which has no nan
        of_run
        | {
            "tensors": _tensors(view) if nested else [],
            "holds_samples": _holds_samples(view, of_run["data"]["samples"]["train"]),
        }
    )
    known = _files_beside(out, card, f"model.{format}")
    x = exportable.samples()
    made = FORMATS[format](personal, view, x, card)
    entry: dict[str, Any] = {"use": PARTS if nested and made.run is None else USE[format]}
    if made.run is None and not nested:
        entry["use"] += f"; {in_words(card)}"
    apart = None
    if made.run is not None:
        with torch.no_grad():
            outputs = personal(x)
            apart = float((made.run(x) - outputs).abs().max())
        if not apart <= _tolerance(card, outputs):
            whose = "all clients" if client is None else f"client {client}"
            raise FedkinError(
                f"{format}: the file of {whose} is {apart:g} away from the run's model"
            )
        entry |= {"largest_difference": apart, "compared_samples": len(x)}
        what = "made-up inputs" if exportable.made_up else "samples"
        entry["use"] += (
            f"; on {len(x)} {what} its outputs are within {apart:.1g} of the model's in the run"
        )
    entry["sha256"] = hashlib.sha256(made.content).hexdigest()
    card["files"] = known | {f"model.{format}": entry}
    make_folder(out)
    for name in (f"model.{format}", CARD, PAGE):
        remove_left_parts(out / name)
    try:
        write_file(out / f"model.{format}", made.content)
        text = json.dumps(card, indent=1, ensure_ascii=False)
        # half a letter, which anybody's JSON may hold, is written as JSON has it
        write_file(out / CARD, text.encode("utf-8", "backslashreplace"))
        write_file(out / PAGE, as_markdown(card).encode())
    except OSError as error:
        raise FedkinError(f"{error.filename or out} cannot be written: {error.strerror}") from None
    return Written(client, out / f"model.{format}", apart)


def _tolerance(card: dict[str, Any], outputs: Tensor) -> float:
    """How far a file's outputs may be from the run's. Means are in the labels' own unit: of prices
    a rounding alone is larger than any difference of log-probabilities.
    """
    module, largest = card["output"]["module"], float(outputs.abs().max())
    if module["y"] == AFTER["poisson"]:
        return TOLERANCE * max(1.0, largest)
    if "scale" not in module:
        return TOLERANCE
    return TOLERANCE * float(module["scale"]) + ROUNDING * largest


def _files_beside(out: Path, card: dict[str, Any], name: str) -> dict[str, Any]:
    """What the card that is there says of the other formats of this model; a card of another model
    is not replaced while its other files are there.
    """
    try:
        before = json.loads(read_file(out / CARD, LARGEST))
        files = {
            other: entry
            for other, entry in before.pop("files").items()
            if other != name and _of_a_file(other, entry) and (out / other).is_file()
        }
        of = before["client"]
    except (OSError, RecursionError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    if of != card["client"]:
        theirs = "all clients" if of is None else of
        raise FedkinError(
            f"{out} holds the model of {theirs}: choose another --out, or remove that folder"
        )
    if files and before != json.loads(json.dumps(card)):
        other = next(iter(files))
        raise FedkinError(
            f"{out} holds {other} of another model: choose another --out, or remove that folder"
        )
    return files


def _of_a_file(name: str, entry: Any) -> bool:
    """Whether ``export`` may have written this of a file: the card may be a stranger's, and
    becomes a page.
    """
    if name not in (f"model.{format}" for format in FORMATS) or not isinstance(entry, dict):
        return False
    texts, numbers = ("use", "sha256"), ("largest_difference", "compared_samples")
    return (
        set(texts) <= set(entry) <= {*texts, *numbers}
        and all(isinstance(entry[key], str) and markdown(entry[key]) == entry[key] for key in texts)
        and all(isinstance(entry.get(key, 0), int | float) for key in numbers)
    )


def _nested(view: Tree) -> bool:
    """Whether the personal model is made of several parts, and no module's parameters."""
    return any("/" in name and not is_buffer(name) for name, _ in named_leaves(view))


def _holds_samples(view: Tree, samples: int) -> bool:
    """Whether a view has a row and a class number for each training sample beside its parameters:
    a method remembers them.
    """
    leaves = [torch.as_tensor(leaf) for _, leaf in named_leaves(view)]
    rows = [leaf for leaf in leaves if leaf.dim() and len(leaf) == samples]
    numbers = [leaf for leaf in rows if leaf.dim() == 1 and leaf.dtype == torch.int64]
    return bool(numbers) and len(rows) > len(numbers)


def _tensors(view: Tree) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(torch.as_tensor(leaf).shape)}
        for name, leaf in named_leaves(view)
    ]
