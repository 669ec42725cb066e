"""What a node's own model predicts for rows of a raw table, by the file of columns that its data
were prepared with.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from fedkin.core.errors import FedkinError, many, some
from fedkin.data.formats.frames import Style
from fedkin.data.tables.kinds import spelled
from fedkin.export.exportable import Exportable
from fedkin.export.predict import predict_frame, spelled_labels
from fedkin.flower.table.columns_file import read_columns
from fedkin.flower.table.inputs import inputs_of, read_wanted
from fedkin.flower.table.words import NAMED, gaps_in_words, unknown_in_words


def predict_raw(
    model: Exportable,
    table: Path,
    columns: Path,
    style: Style | None = None,
    times: Mapping[str, float] | None = None,
    threshold: float | str | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Predictions for raw rows: those of the same rows, had they been prepared.

    Args:
        model: The node's.
        table: Raw: .csv, .parquet or .arrow, with or without labels.
        columns: The file of columns that the node's data were prepared with.
        style: How the raw table's text is written; None: UTF-8 with commas and decimal points.
        times: What the numbers of a raw column are multiplied with.
        threshold: As of ``fedkin.export.predict.predict``.

    Returns:
        (a row a sample, remarks), as of ``predict``. Classes have the words of the file of columns.

    Raises:
        FedkinError: The table cannot be read, or its columns or classes are not the model's.
    """
    wanted = read_columns(columns)
    population = model.population
    if wanted.classes and not 0 < population.classes <= len(wanted.classes):
        raise FedkinError(
            f"{columns} has {many(len(wanted.classes), 'class', 'classes')}, and the model "
            f"{population.classes}: give the file that the node's data were prepared with"
        )
    if population.encoding is None:
        raise FedkinError("the node's model takes arrays: leave --columns out")
    made = wanted.encoding.outputs
    lacking = [one.name for one in population.encoding.features if one.name not in made]
    if lacking:
        raise FedkinError(
            f"{columns} makes no input {lacking[0]!r}, which the model takes: give the file that "
            "the node's data were prepared with"
        )
    read = read_wanted(table, wanted, style or Style(), [])
    inputs = inputs_of(read, wanted.encoding, times or {}, columns)
    frame = inputs.frame
    if wanted.label in read.frame:
        frame[model.data.label or "label"] = spelled_labels(read.frame[wanted.label])
    words = [spelled(one) for one in wanted.classes]
    known, unseen = words[: population.classes], words[population.classes :]
    named = model._replace(population=replace(population, class_names=tuple(known)))
    answers, said = predict_frame(named, frame, threshold)
    remarks = [gaps_in_words(inputs.filled), *unknown_in_words(inputs.unknown)]
    if unseen:
        which = some(map(repr, unseen), NAMED)
        remarks.append(f"no node of the run had a row of class {which}: it is never predicted")
    return answers, (*filter(None, remarks), *said)
