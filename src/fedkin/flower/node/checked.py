"""What a node's owner can know of its data before any server asks: they are read by the node's own
rules, and what is found stays here.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedkin.core.errors import FedkinError, some
from fedkin.core.model import Inputs
from fedkin.data.population import SPLITS, Population
from fedkin.flower.config import NODE, NodeConfig, load
from fedkin.flower.node.data import columns_of
from fedkin.flower.node.held_data import HeldData
from fedkin.flower.node.reasons import of_failure
from fedkin.flower.node.usable import check_fit, experiment_at, own_data
from fedkin.runs.spec import Spec
from fedkin.setup.privacy import seeded_remarks

FAR = 5.0  # the mean of a column, or its deviation, from which on steps overshoot
REHEARSAL = "its data are its part of the experiment's: a rehearsal"
NAMED = 5  # columns in a note


def checked(folder: Path) -> dict[str, Any]:
    """A node's data, as its host reads them for the experiment beside them.

    Args:
        folder: Of the node.

    Returns:
        {"client", "data", "samples": {split: n}, "columns": [name], "shape": [n], "task",
        "classes": {label: training samples}, "notes": [sentence]}; "data" is None, and nothing
        follows, in a rehearsal.

    Raises:
        FedkinError: A file is missing or damaged, or the data cannot be used; says where, with the
            cell.
    """
    config = load(NodeConfig, folder, NODE)
    spec, _ = experiment_at(config, folder)
    if config.data is None:
        return {"client": config.client, "data": None}
    population = own_data(folder / config.data, spec)
    enter = check_fit(config, spec, population)
    labels = population.part(0, "train")[1].numpy()
    counts = np.bincount(labels).tolist() if population.classes else []
    return {
        "client": config.client,
        "data": config.data,
        "samples": {split: len(population.rows(split)[0]) for split in SPLITS},
        "columns": list(columns_of(population)),
        "shape": list(population.x.shape[1:]),
        "task": population.task,
        "classes": {str(k): count for k, count in enumerate(counts)},
        "notes": [
            *seeded_remarks(spec),
            *_without_samples(population),
            *_unscaled(enter, population),
        ],
    }


def first_look(held: HeldData, experiment: Callable[[], tuple[Spec, str]]) -> str:
    """What a start says of a node's data: their sizes, or why no run can have them.

    Args:
        held: The node's data.
        experiment: Reads the experiment, and its fingerprint.

    Returns:
        A line, and loud ones above it where the experiment's noise or masks protect nobody. Cells
        go to the log alone.
    """
    if held.config.data is None:
        return REHEARSAL
    try:
        spec, fingerprint = experiment()
        loaded = held.look(spec, fingerprint)
        check_fit(held.config, spec, loaded.population)
    except Exception as error:  # of any file that is not as it must be: the host waits for it
        why = str(error) if isinstance(error, FedkinError) else of_failure(error)
        return f"no run can have this node until this is mended: {why}"
    facts = loaded.facts
    assert facts is not None
    sizes = f"its data: {facts.train:,} train, {facts.val:,} val, {facts.test:,} test samples"
    return "\n".join([*seeded_remarks(spec), sizes])


def _without_samples(population: Population) -> list[str]:
    notes = []
    if not len(population.val[0]):
        notes.append("no validation samples: nothing is chosen by this node's scores")
    if not len(population.test[0]):
        notes.append("no test samples: nobody will know how good this node's model is")
    return notes


def _unscaled(enter: Inputs, population: Population) -> list[str]:
    """Of columns that enter the model far from 0: a simulation would have standardised them."""
    names = columns_of(population)
    if not names:
        return []
    x = enter(population.part(0, "train")[0], torch.empty(0, dtype=torch.float64))
    means, deviations = x.mean(0).tolist(), x.std(0, correction=0).tolist()
    far = [k for k in range(len(names)) if max(abs(means[k]), deviations[k]) > FAR]
    if not far:
        return []
    described = [f"{names[k]} (mean {means[k]:.3g}, deviation {deviations[k]:.3g})" for k in far]
    given = "by data.mean and data.std" if enter.mean or enter.std else "as they are"
    return [
        f"columns enter the model {given}, far from 0: {some(described, NAMED)}; give data.mean "
        "and data.std in experiment.toml, the same here and on all nodes"
    ]
