"""What is measured for a table: of a finished run, each a number from its records, and of the runs
of all seeds together.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedkin.report.records import opened
from fedkin.report.scores import curves, spread, values
from fedkin.report.summary import summary
from fedkin.reproduce.cost import cost
from fedkin.setup.loaded_run import load

Measure = Callable[[Path, Mapping[str, Any]], float | None]
Numbers = Mapping[str, float | None]  # of a run, by measure
CLIENT = "accuracy of client "  # before its name: a number of one client


def _accuracy(view: str, round: str, number: str) -> Measure:
    def measure(folder: Path, summary: Mapping[str, Any]) -> float | None:
        picked = (summary["accuracy"].get(view) or {}).get(round)
        return None if picked is None or picked[number] is None else 100 * picked[number]

    return measure


def _last(name: str, of: str = "clients") -> Measure:
    """The mean over clients of what a note said last, or what it said of the federation."""

    def measure(folder: Path, summary: Mapping[str, Any]) -> float | None:
        by_client = summary["extras"].get(name, {})
        values = [
            v  # None of a client that diverged
            for k, v in by_client.items()
            if (k == "federation") == (of == "federation") and v is not None
        ]
        return float(np.mean(values)) if values else None

    return measure


def highest_weighted(folder: Path, summary: Mapping[str, Any]) -> float | None:
    """The highest over rounds of the personal accuracy weighted by test samples.

    The round of the highest plain mean may be another one, with a lower weighted mean.

    Args:
        folder: The run directory.
        summary: Its summary, which is not used.

    Returns:
        Per cent; None where nothing was evaluated.
    """
    with opened(folder) as run:
        curve, panel = curves(run).get("personal"), run.panel()
        if curve is None:
            return None
        weights = {client: run.clients[client].test for client in run.clients}
        means = []
        for at in curve.rounds:
            of = values(run, at, "personal", "accuracy")
            asked = {k: v for k, v in of.items() if panel is None or k in panel}
            means.append(spread(asked, weights)["weighted"])
    known = [mean for mean in means if mean is not None]
    return 100 * max(known) if known else None


def of_clients(folder: Path) -> dict[str, float | None]:
    """Each client's test accuracy of the last round, as a CSV of finished rows keeps it.

    Args:
        folder: A finished run.

    Returns:
        Percent, by ``CLIENT`` and the client's name; None where it has none.
    """
    with opened(folder) as run:
        curve = curves(run).get("personal")
        by_client_number = values(run, curve.rounds[-1], "personal", "accuracy") if curve else {}
        return {
            f"{CLIENT}{run.name(k)}": v if v is None else 100 * v
            for k, v in by_client_number.items()
        }


def sd_of_means(runs: Sequence[Numbers]) -> float | None:
    """The sd over clients of each client's mean over the runs of all seeds (PersFL, §5.1).

    The noise of single runs averages out in it, so that it is at most the mean of the runs' own
    sds. None where the runs have no client in common.

    Args:
        runs: What was measured of finished runs, one a seed; that of clients by ``CLIENT``.

    Returns:
        Percent; the population sd, as in each run.
    """
    by_client = [
        {name: v for name, v in one.items() if name.startswith(CLIENT) and v is not None}
        for one in runs
    ]
    common = set[str].intersection(*map(set, by_client)) if by_client else set()
    means = [float(np.mean([one[name] for one in by_client])) for name in sorted(common)]
    return float(np.std(means)) if means else None


def recovery_errors(folder: Path, summary: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Each client's Σ_k |α_ik − ĉ_ik| / 2 for the best order of the components (PPFL, Fig. 11).

    None where no truth is known.

    Args:
        folder: The run directory.
        summary: Its summary.

    Returns:
        [clients], in 0..1.
    """
    from scipy.optimize import linear_sum_assignment

    truth = load(folder, of=())[1].population.truth.get("alpha")
    by_client = summary["extras"].get("membership", {})
    if truth is None or not by_client:
        return None
    learnt = np.array(list(by_client.values()), dtype=float)
    apart = np.abs(np.asarray(truth)[:, :, None] - learnt[:, None, :])
    _, order = linear_sum_assignment(apart.mean(0))
    errors: NDArray[np.float64] = apart[:, np.arange(len(order)), order].sum(1) / 2
    return errors


def recovery(folder: Path, summary: Mapping[str, Any]) -> float | None:
    """The mean over clients of ``recovery_errors``.

    Args:
        folder: The run directory.
        summary: Its summary.

    Returns:
        In 0..1; None where no truth is known.
    """
    errors = recovery_errors(folder, summary)
    return None if errors is None else float(errors.mean())


def _model(place: int) -> Measure:
    """The share of clients that hold the model at a place of the specification's map."""

    def measure(folder: Path, summary: Mapping[str, Any]) -> float | None:
        with opened(folder) as run:
            model = run.fact("spec").get("model") or {}
            names = list((model.get("map") or {}).values())
            held = [client.architecture for client in run.clients.values()]
        return 100 * held.count(names[place]) / len(held) if place < len(names) else None

    return measure


def largest(folder: Path, summary: Mapping[str, Any]) -> float | None:
    """Samples of the client that has most.

    Args:
        folder: The run directory.
        summary: Its summary, which is not used.

    Returns:
        Training, validation and test samples together.
    """
    with opened(folder) as run:
        return float(
            max(client.train + client.val + client.test for client in run.clients.values())
        )


def _processor(folder: Path, summary: Mapping[str, Any]) -> float | None:
    """Of the whole run, on all processors; None where ``fedkin reproduce`` did not make it."""
    spent = cost(folder)
    return None if spent is None else spent.total / 60


MEASURES: dict[str, tuple[str, Measure]] = {
    "accuracy": ("test accuracy, %", _accuracy("personal", "final", "mean")),
    "weighted accuracy": (
        "test accuracy weighted by test samples, %",
        _accuracy("personal", "final", "weighted"),
    ),
    "sd over clients": ("its sd over clients, %", _accuracy("personal", "final", "std")),
    "global accuracy": (
        "test accuracy of the global model, %",
        _accuracy("global", "final", "mean"),
    ),
    "highest": (
        "highest test accuracy over rounds, %",
        _accuracy("personal", "best_on_test", "mean"),
    ),
    "highest weighted": (
        "test accuracy weighted by test samples, highest over rounds, %",
        highest_weighted,
    ),
    "scalars": (
        "scalars sent (paper)",
        lambda folder, found: found["communication"]["paper"]["scalars"]["total"],
    ),
    "rounds": ("rounds", lambda folder, found: found["rounds"]),
    "minutes": ("minutes", lambda folder, found: found["seconds"]["total"] / 60),
    "processor minutes": ("processor minutes", _processor),
    "teacher": ("round of the teacher", _last("teacher_round")),
    "temperature": ("temperature T", _last("temperature")),
    "imitation": ("imitation λ", _last("imitation")),
    "stability": ("share that keeps its cluster", _last("stability", "federation")),
    "distance": ("distance between cluster models", _last("distance", "federation")),
    "first model": ("clients with the first model, %", _model(0)),
    "second model": ("clients with the second model, %", _model(1)),
    "third model": ("clients with the third model, %", _model(2)),
    "largest": ("samples of the largest client", largest),
    "recovery": ("recovery error of memberships", recovery),
}


# Of the runs of all seeds together, from the numbers of their clients
OVER_SEEDS: dict[str, tuple[str, Callable[[Sequence[Numbers]], float | None]]] = {
    "sd over clients of means": ("sd over clients of their means over seeds, %", sd_of_means),
}


def measured(folder: Path, names: list[str]) -> dict[str, float | None]:
    """Measures of a finished run.

    Args:
        folder: The run directory.
        names: Keys of MEASURES.

    Returns:
        {name: number}, None where the run has none; accuracies are in per cent.
    """
    numbers = summary(folder)
    return {name: MEASURES[name][1](folder, numbers) for name in names}
