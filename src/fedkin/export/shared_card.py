"""The card of a model that all clients share: which run it is of, whose data trained it, how well
it does at them in the mean.
"""

from pathlib import Path
from typing import Any

from fedkin.data.population import SPLITS
from fedkin.export.card import input_of, output_of
from fedkin.report.records import Run, number
from fedkin.report.records import opened as records
from fedkin.setup.build import Assembled
from fedkin.setup.snapshot import Snapshot

AS_THEY_ARE = (
    "x holds the numbers of these columns as they are, in this order: the nodes' tables were not "
    "scaled and had no gaps, so the run has no number that stands for a missing one"
)


def card_of(
    folder: Path, parts: Assembled, at: Snapshot, view: str, columns: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The card as plain values; scores are plain means over clients.

    Args:
        folder: The run directory.
        parts: The run's objects.
        at: Its last commit.
        view: The name of the view that all share.
        columns: Names of the columns of the nodes' tables, which the server never saw; () where it
            saw them.

    Returns:
        What card.json holds: accuracies are fractions 0..1, losses means per sample.
    """
    (architecture,) = {info.architecture for info in parts.infos.values()}
    model, people = parts.models[architecture], parts.population
    with records(folder) as run:
        model_input = input_of(people, model)
        if columns:
            model_input |= {"names": list(columns), "encoded": AS_THEY_ARE}
        return {
            "client": None,
            "number": None,
            "clients": [one.name for one in run.clients.values()],
            "view": view,
            "method": run.fact("method"),
            "hyper_parameters": run.fact("hyper"),
            "architecture": architecture,
            "family": model.family.name,
            "seed": run.fact("seed"),
            "rounds": at.trained,
            "finished": at.finished,
            "joined": None,
            "data": {
                "name": run.fact("data"),
                "samples": {
                    split: sum(getattr(one, split) for one in run.clients.values())
                    for split in SPLITS
                },
                "digest": run.fact("data_digest"),
            },
            "scores": {view: scores} if (scores := _means(run, at.round, view)) else {},
            "input": model_input,
            "output": output_of(people, model),
            "versions": run.fact("versions"),
            "privacy": run.facts.get("privacy"),
        }


def _means(run: Run, at: int, view: str) -> dict[str, Any]:
    """Plain means over the clients; under masks the one mean that is known."""
    query = (
        "SELECT split, avg(loss), avg(accuracy) FROM metrics WHERE view = ? AND round = ? "
        "GROUP BY split"
    )
    return {
        split: {"loss": loss, "accuracy": None if accuracy is None else number(accuracy)}
        for split, loss, accuracy in run.rows(query, view, run.last_scored(at))
        if loss is not None
    }
