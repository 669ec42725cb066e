"""What the record of a run under masks keeps of its clients' data: sums and means, as of scores.

A simulation has everybody's rows in one place, and could keep more: a record of it then would hold
what no record of a deployment with masks can.
"""

import math
from collections.abc import Mapping
from typing import Any

from fedkin.experiment.plain_baselines import plain_baselines
from fedkin.masks.terms import LEAST
from fedkin.runs.database import Database
from fedkin.runs.record import FEDERATION
from fedkin.setup.build import Assembled


def summed_labels(parts: Assembled) -> list[int]:
    """How frequent each class is, by which a report says where accuracy misleads.

    Args:
        parts: The run's.

    Returns:
        Training samples of each class over all clients; 0 of each where nobody knows them.
    """
    return [int(sum(column)) for column in zip(*_histograms(parts), strict=True)]


def _histograms(parts: Assembled) -> list[list[float]]:
    return [info.histogram.tolist() for info in parts.infos.values()]


def baselines_of(parts: Assembled) -> dict[str, Any]:
    """What the record of a simulation keeps of its baselines. Nobody has the rows of a deployment
    in one place: there it has none.

    Args:
        parts: The run's.

    Returns:
        Facts: ``baselines``, of each client; under masks of each baseline its mean, and
        ``baselines_of``, of how many clients that is.
    """
    spec = parts.spec
    by_baseline = plain_baselines(parts.population, spec.run.measure, spec.model.family)
    if not parts.federation.masked:
        return {"baselines": by_baseline}
    means = federation_means(by_baseline)
    return {"baselines": means, "baselines_of": {name: len(by_baseline[name]) for name in means}}


def federation_means(baselines: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Of each baseline its mean over clients, and no client's own number.

    Args:
        baselines: {name: {client: its measure on test}}.

    Returns:
        {name: {the number of the federation: the mean}}; without those that fewer clients have than
        the scores of an evaluation are added of.
    """
    return {
        name: {str(FEDERATION): math.fsum(values.values()) / len(values)}
        for name, values in baselines.items()
        if len(values) >= LEAST
    }


def no_last_scores(database: Database) -> list[str]:
    """Of a finished model that nobody could score, since a client lied in its evaluation.

    Args:
        database: The record of a run under masks, with its last round.

    Returns:
        A sentence, or none where it has scores.
    """
    ((last,),) = database.rows("SELECT max(round) FROM rounds")
    if database.rows("SELECT round FROM metrics WHERE round = ? LIMIT 1", last):
        return []
    ((before,),) = database.rows("SELECT max(round) FROM metrics")
    shown = "none is shown" if before is None else f"those shown are of round {before}"
    return [
        "the finished model has no scores, since a client lied in its evaluation under masks: it "
        f"is kept as it was trained, and of its scores {shown}"
    ]
