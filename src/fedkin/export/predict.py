"""Predictions of a personal model for new samples: they are read as the training data were, and the
predictions have the labels' own names.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.files import near_path
from fedkin.data.formats.frames import SUFFIXES
from fedkin.data.formats.images import ENDINGS
from fedkin.data.formats.npz import load_arrays
from fedkin.data.population import Population
from fedkin.data.tables.encoding import Encoding
from fedkin.data.tables.gaps import gaps_of
from fedkin.data.tables.kinds import keep_as_text, spelled
from fedkin.data.tables.new_rows import encoded, read_later
from fedkin.export.against_labels import scores_in_words
from fedkin.export.exportable import Exportable, exportable
from fedkin.export.new_images import image_files, read_images, takes_images
from fedkin.export.opened_run import PERSONAL, Member, Opened
from fedkin.export.threshold import answered, in_words, threshold_of
from fedkin.newcomers.arrays import as_in_the_run, other_samples
from fedkin.runs.spec import DataSection
from fedkin.setup.arguments.given import given_data

ROWS = 1024  # samples at a time


class NewSamples(NamedTuple):
    """Samples of a file: ``x`` [rows, …] as the model takes it, ``labels`` where the file has them
    (None in a row without one), and ``remarks``, sentences for whoever asked.
    """

    x: Tensor
    labels: list[str | None] | None
    remarks: tuple[str, ...] = ()
    kept: pd.DataFrame | None = None  # columns that go on beside the predictions


def predict(
    exportable: Exportable,
    path: Path,
    copy: bool = False,
    keep: Sequence[str] = (),
    threshold: float | str | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """What a personal model predicts for the samples in a file.

    Args:
        exportable: The model.
        path: A table with the columns of training (with or without the label), .npz with x, or an
            image or a folder of them for a model of images.
        copy: Whether the file is one that fedkin wrote of a DataFrame, not in the way of the run's
            files.
        keep: Columns of the table that stand before the predictions, such as a patient's number.
        threshold: Of two classes, the least probability of the second with which it is predicted:
            in 0..1, or "own", the client's; None: the likelier class is predicted.

    Returns:
        (a row a sample, remarks on the file and on how well its labels are predicted). Columns:
        those that are kept (of images "file"), "prediction", and "p(LABEL)" in 0..1 for each
        class.
        ``attrs["threshold"]`` and ``attrs["own_threshold"]``: the one of the predictions, and the
        client's own; None where there is none.

    Raises:
        FedkinError: The file is not there, lacks a column, or has other samples than the model was
            trained on; the threshold is none, or there is no such one.
    """
    cut = threshold_of(exportable, threshold)
    population = exportable.population
    samples = _read(path, population, exportable.data, copy, tuple(dict.fromkeys(keep)))
    with torch.inference_mode():
        outputs = torch.cat(
            [exportable.personal(part) for part in torch.split(samples.x, ROWS)]
        ).numpy()
    frame = prediction_table(outputs, population)
    if samples.kept is not None:
        if twice := [name for name in samples.kept.columns if name in frame.columns]:
            raise FedkinError(f"--keep {twice[0]}: a column of predictions is called so")
        frame = pd.concat([samples.kept, frame], axis=1)
    frame = answered(frame, cut)
    remarks = (
        *samples.remarks,
        *scores_in_words(frame, samples.labels, _classes(population)),
        *in_words(frame, cut),
    )
    return frame, remarks


def predict_frame(
    exportable: Exportable, frame: pd.DataFrame, threshold: float | str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """What a personal model predicts for the rows of a DataFrame.

    Args:
        exportable: The model, of a table.
        frame: With the columns of training, with or without the label.
        threshold: As of ``predict``.

    Returns:
        As of ``predict``.

    Raises:
        FedkinError: As of ``predict``.
    """
    with tempfile.TemporaryDirectory(prefix="fedkin-") as folder:
        written = given_data(frame).write(Path(folder))
        return predict(exportable, written, copy=True, threshold=threshold)


def prediction_table(outputs: np.ndarray[Any, Any], population: Population) -> pd.DataFrame:
    """A model's outputs [rows, classes] (or [rows, 1]) under the labels' own names; none where a
    model that diverged says nothing.

    Args:
        outputs: Log-probabilities [rows, classes], or means [rows, 1] of a regression.
        population: The run's, for the names of its classes.

    Returns:
        A row a sample: "prediction" (None where a number is nan), and "p(LABEL)" in 0..1 for each
        class.
    """
    if population.task == "regression":
        return pd.DataFrame({"prediction": outputs[:, 0]})
    names = _classes(population)
    frame = pd.DataFrame(np.exp(outputs), columns=[f"p({name})" for name in names])
    best = zip(outputs.argmax(axis=1), np.isnan(outputs).any(axis=1), strict=True)
    frame.insert(0, "prediction", [None if undefined else names[c] for c, undefined in best])
    return frame


def _classes(population: Population) -> list[str]:
    """Their names; [] of a regression."""
    return list(population.class_names) or [str(c) for c in range(population.classes)]


def _read(
    path: Path,
    population: Population,
    data: DataSection,
    copy: bool = False,
    keep: tuple[str, ...] = (),
) -> NewSamples:
    if not path.exists():
        raise FedkinError(f"file {path} does not exist{near_path(path) or ': check the path'}")
    if keep and population.encoding is None:
        takes = "images" if takes_images(population) else "arrays"
        raise FedkinError(f"--keep names columns of a table, and this model takes {takes}")
    if files := image_files(path, population):
        x = as_in_the_run(read_images(files, population, data.options), population, str(path))
        inside = [str(file.relative_to(path)) if path.is_dir() else file.name for file in files]
        return NewSamples(torch.from_numpy(x), None, (), pd.DataFrame({"file": inside}))
    if path.is_dir() and takes_images(population):
        raise FedkinError(
            f"{path} has no images ({', '.join(ENDINGS)}): name one, or a folder that has some"
        )
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe, which is read only once"
        raise FedkinError(f"{path} is {what}: name the file with the new samples")
    if population.encoding is not None:
        if path.suffix.lower() not in SUFFIXES:
            raise FedkinError(
                f"{path} is no table, and this model was trained on one: give {', '.join(SUFFIXES)}"
            )
        return _table(path, population.encoding, population.class_names, data, copy, keep)
    if path.suffix.lower() != ".npz":
        if takes_images(population):
            raise FedkinError(
                f"{path}: this model takes images ({', '.join(ENDINGS)}), a folder of them, or an "
                ".npz file with x"
            )
        raise FedkinError(
            f"{path}: this model takes arrays: save them with numpy.savez(x=…) as .npz"
        )
    arrays = load_arrays(path)
    if "x" not in arrays:
        raise FedkinError(f"{path} lacks x: it has {', '.join(arrays) or 'nothing'}")
    x = as_in_the_run(arrays["x"], population, str(path))
    if x.shape[1:] != tuple(population.x.shape[1:]):
        raise other_samples(x, population, str(path))
    return NewSamples(torch.from_numpy(x), None)


def _table(
    path: Path,
    encoding: Encoding,
    classes: tuple[str, ...],
    data: DataSection,
    copy: bool = False,
    keep: tuple[str, ...] = (),
) -> NewSamples:
    label = data.label or "label"
    seen = {label, *(feature.name for feature in encoding.features)}
    as_written = [name for name in keep if name not in seen]  # 007 is no number
    others = [*as_written, *([label] if keep_as_text(classes) else [])]
    read = read_later(path, encoding, data.options, others, copy)
    x, remarks = encoded(read, encoding, [label, *keep])
    kept = _kept(read.frame, keep) if keep else None
    if label not in read.frame.columns:
        return NewSamples(torch.from_numpy(x), None, remarks, kept)
    return NewSamples(torch.from_numpy(x), spelled_labels(read.frame[label]), remarks, kept)


def spelled_labels(column: "pd.Series[Any]") -> list[str | None]:
    """Labels of a table as names of classes are spelled.

    Args:
        column: As it was read.

    Returns:
        One a row; None where there is none.
    """
    gaps = gaps_of(column)
    return [None if gap else spelled(value) for value, gap in zip(column, gaps, strict=True)]


def _kept(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Columns as they are, a gap as None."""
    columns = [str(name) for name in frame.columns]
    for name in names:
        if name not in columns:
            raise unknown("column", name, columns)
    return pd.DataFrame(
        {
            name: pd.Series(frame[name].to_numpy(), dtype=object).where(~gaps_of(frame[name]), None)
            for name in names
        }
    )


def predicted(
    opened: Opened,
    member: Member,
    x: Any,
    view: str = PERSONAL,
    threshold: float | str | None = None,
) -> pd.DataFrame:
    """What a client's model predicts for a file, a DataFrame, or samples as it takes them.

    Args:
        opened: The run.
        member: Whose model.
        x: The path of a file, a DataFrame with the columns of training, or samples [rows, …].
        view: The name of one of its views: "personal", or "global" for the shared model.
        threshold: As of ``predict``.

    Returns:
        A row a sample, as of ``predict``; ``attrs["said"]`` holds the remarks.

    Raises:
        FedkinError: The view is not there, the samples are of another kind, shape or type than the
            model was trained on, or there is no such threshold.
    """
    one = exportable(opened, member, view)
    if isinstance(x, str | Path):
        frame, remarks = predict(one, Path(x), threshold=threshold)
    elif isinstance(x, pd.DataFrame):
        if one.population.encoding is None:
            raise FedkinError(
                "x is a DataFrame, and this model takes arrays: give x [rows, "
                f"{', '.join(map(str, one.population.x.shape[1:]))}], as x.to_numpy() may be"
            )
        frame, remarks = predict_frame(one, x, threshold)
    else:
        cut = threshold_of(one, threshold)
        frame = answered(_of_samples(one, x), cut)
        remarks = in_words(frame, cut)
    frame.attrs["said"] = list(remarks)
    return frame


def _of_samples(one: Exportable, x: Any) -> pd.DataFrame:
    wanted, array = one.population.x, _array_of(x)
    if array.dtype.kind not in "buif":
        raise FedkinError(
            f"x is a {type(x).__name__}: give a file, a DataFrame, or samples as arrays"
        )
    samples = array
    if array.ndim > 1 and array.size:
        samples = as_in_the_run(array, one.population, "x")
    if samples.shape[1:] != wanted.shape[1:] or samples.ndim < 2 or not len(samples):
        raise FedkinError(
            f"x has shape {list(samples.shape)}: the model takes [rows, "
            f"{', '.join(map(str, wanted.shape[1:]))}]; a table's own columns come as a DataFrame"
        )
    with torch.inference_mode():
        parts = torch.split(torch.from_numpy(samples), ROWS)
        outputs = torch.cat([one.personal(part) for part in parts]).numpy()
    return prediction_table(outputs, one.population)


def _array_of(x: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(x)
    # rows of several lengths, a tensor with gradients
    except (TypeError, ValueError, RuntimeError):
        return np.asarray(None)
