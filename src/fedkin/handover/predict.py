"""New samples through a personal model: read as the training data were, answered with the labels' own names."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, some
from fedkin.data.clients import Population
from fedkin.data.columns import cells_of, spelled
from fedkin.data.encode import Encoding
from fedkin.data.frames import SUFFIXES, Read, Style, read_file
from fedkin.data.npz import load_arrays
from fedkin.data.source import Array, features, images
from fedkin.handover.opened import Opened

WANTED = {"number": "auto", "category": "category", "words": "text"}
ROWS = 1024  # samples at a time


class Asked(NamedTuple):
    """Samples that came: x as the model takes it, the labels where the file has them, what is worth saying."""

    x: Tensor
    labels: list[str] | None
    said: tuple[str, ...] = ()


def predict(opened: Opened, client: int, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """(a row a sample, what is worth saying). Columns: "prediction", and "p(LABEL)" for each class.

    Raises FedkinError where the file lacks a column, or has other samples than the model was trained on.
    """
    population, spec = opened.parts.population, opened.parts.spec
    asked = _read(path, population, spec.data.label or "label", _style(opened))
    personal = opened.personal(client)
    with torch.inference_mode():
        found = torch.cat([personal(part) for part in torch.split(asked.x, ROWS)]).numpy()
    if population.task == "regression":
        frame = pd.DataFrame({"prediction": found[:, 0]})
    else:
        names = list(population.class_names) or [str(c) for c in range(population.classes)]
        frame = pd.DataFrame(np.exp(found), columns=[f"p({name})" for name in names])
        frame.insert(0, "prediction", [names[c] for c in found.argmax(axis=1)])
    return frame, (*asked.said, *_measured(frame, asked.labels, population.task))


def _style(opened: Opened) -> Style:
    options = opened.parts.spec.data.options
    words = {key: str(options[key]) for key in ("separator", "decimal", "encoding") if key in options}
    return Style((), **words)


def _read(path: Path, population: Population, label: str, style: Style) -> Asked:
    if not path.is_file():
        raise FedkinError(f"file {path} does not exist: check the path")
    if population.encoding is not None:
        if path.suffix.lower() not in SUFFIXES:
            raise FedkinError(f"{path} is no table, and this model was trained on one: give {', '.join(SUFFIXES)}")
        return _table(path, population.encoding, label, style)
    if path.suffix.lower() != ".npz":
        raise FedkinError(f"{path}: this model takes arrays: save them with numpy.savez(x=…) as .npz")
    arrays = load_arrays(path)
    if "x" not in arrays:
        raise FedkinError(f"{path} lacks x: it has {', '.join(arrays) or 'nothing'}")
    x = images(features(arrays["x"], str(path)))
    if x.shape[1:] != tuple(population.x.shape[1:]) or str(x.dtype) != str(population.x.numpy().dtype):
        raise FedkinError(
            f"{path}: its samples are {x.dtype} {list(x.shape[1:])}, the model takes {population.x.numpy().dtype} "
            f"{list(population.x.shape[1:])}"
        )
    return Asked(torch.from_numpy(x), None)


def _table(path: Path, encoding: Encoding, label: str, style: Style) -> Asked:
    as_text = tuple(feature.name for feature in encoding.features if feature.kind != "number")
    read = read_file(path, style._replace(as_text=as_text))
    names = [str(name) for name in read.frame.columns]
    lacking = [feature.name for feature in encoding.features if feature.name not in names]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise FedkinError(f"{path} lacks the column {lacking[0]!r}{more}, which the model was trained with")
    x = _cells(read, encoding)
    known = {label, *(feature.name for feature in encoding.features)}
    ignored = [name for name in names if name not in known]
    said = (f"columns that the model does not use: {some(ignored, 8)}",) if ignored else ()
    labels = [spelled(value) for value in read.frame[label]] if label in names else None
    return Asked(torch.from_numpy(x), labels, said)


def _cells(read: Read, encoding: Encoding) -> Array:
    found = [cells_of(read.frame[one.name], read.place, WANTED[one.kind]) for one in encoding.features]
    for feature, each in zip(encoding.features, found, strict=True):
        if feature.kind == "number" and each.column.values:
            raise FedkinError(
                f"{read.place(0)}: column {feature.name!r} holds {each.column.values[0][:40]!r}, but the model was "
                "trained with numbers there"
            )
    return encoding.encode(np.stack([each.cells for each in found], axis=1), [each.column for each in found])


def _measured(frame: pd.DataFrame, labels: list[str] | None, task: str) -> tuple[str, ...]:
    """How the predictions compare with labels that the file has."""
    if labels is None:
        return ()
    if task == "regression":
        error = frame["prediction"].to_numpy(dtype=float) - pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy()
        return (f"root mean squared error against the labels in the file: {float(np.sqrt(np.mean(error**2))):g}",)
    right = sum(a == b for a, b in zip(frame["prediction"], labels, strict=True))
    return (f"accuracy against the labels in the file: {right / len(labels):.2%} of {len(labels):,}",)
