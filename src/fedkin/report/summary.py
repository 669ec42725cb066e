"""A run in numbers: what ``fedkin show DIR --json`` prints."""

from pathlib import Path
from statistics import median
from typing import Any

from fedkin.core.plain import plain
from fedkin.report.ledger import communication
from fedkin.report.newcomers import unseen
from fedkin.report.records import Run, opened
from fedkin.report.scores import chosen_rounds, curves, measures, scores, spread
from fedkin.runs.spec import SplitSection

FACTS = (
    "method",
    "hyper",
    "seed",
    "clients",
    "participation",
    "data",
    "split",
    "model",
    "fingerprint",
)


def summary(folder: Path) -> dict[str, Any]:
    """The run's settings and its numbers, all of them plain JSON values; None where nothing was
    measured.

    Accuracies and losses are on TEST, as fractions and means per sample. Raises FedkinError for a
    folder that is no run, or a damaged one; an unfinished run is summed up as far as it is
    committed (``finished`` is False).
    """
    with opened(folder) as run:
        return of_run(run)


def of_run(run: Run) -> dict[str, Any]:
    """``summary`` of an open run."""
    accuracy, loss = _numbers(run)
    return {
        "run": run.folder.name or str(run.folder),
        **{name: run.facts.get(name) for name in FACTS},
        "split_parameters": split_parameters(run.facts),
        "clients": run.facts.get("clients", len(run.clients)),
        "rounds": run.committed(),
        "planned": run.planned(),
        "finished": run.finished,
        "accuracy": accuracy,
        "loss": loss,
        "measures": {
            view: _measures(run, picks["final"]["round"], view) for view, picks in loss.items()
        },
        "communication": communication(run),
        "seconds": _seconds(run),
        "missing": _missing(run),
        "extras": extras(run),
        "unseen": unseen(run),
    }


def split_parameters(facts: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the run's partition, as its specification has them."""
    spec = (facts.get("spec") or {}).get("split") or {}
    return {name: value for name, value in spec.items() if name not in SplitSection.model_fields}


def extras(run: Run) -> dict[str, dict[str, Any]]:
    """{name: {client's name: the last value it told}}; what is said of all of them has the name
    "federation".
    """
    # In SQLite the bare column `value` comes from the row that has the maximum.
    query = (
        "SELECT client, name, value, max(round) FROM notes GROUP BY name, client ORDER "
        "BY name, client"
    )
    found: dict[str, dict[str, Any]] = {}
    for client, name, value, _ in run.rows(query):
        found.setdefault(name, {})[run.name(client)] = run.read(value)
    return found


def _numbers(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    weights = {k: client.test for k, client in run.clients.items()}
    accuracy: dict[str, Any] = {}
    loss: dict[str, Any] = {}
    for view, curve in curves(run).items():
        rounds = chosen_rounds(curve)
        last = rounds["final"]
        assert last is not None  # a view exists because a round has it
        losses = {k: value for k, (value, _) in scores(run, last, view).items()}
        loss[view] = {"final": {**spread(losses, weights, worst="high"), "round": last}}
        if any(
            value is not None for value in curve.test
        ):  # else a regression, which has no accuracy
            accuracy[view] = {name: _at(run, at, view, weights) for name, at in rounds.items()}
    return accuracy, loss


def _measures(run: Run, last: int, view: str) -> dict[str, Any]:
    """RMSE, MAE and AUC over clients on test, in the last round: of a finished run."""
    weights = {k: client.test for k, client in run.clients.items()}
    found = measures(run, last, view)
    return {
        name: spread(values, weights, worst="low" if name == "auc" else "high")
        for name, values in found.items()
    }


def _at(run: Run, at: int | None, view: str, weights: dict[int, int]) -> dict[str, Any] | None:
    if at is None:
        return None
    values = {k: value for k, (_, value) in scores(run, at, view).items()}
    return {**spread(values, weights), "round": at}


def _seconds(run: Run) -> dict[str, Any]:
    rows = run.seconds()
    rounds = [seconds.get("total", 0.0) for phase, seconds in rows if phase == "round"]
    parts = {
        part: sum(seconds.get(part, 0.0) for _, seconds in rows)
        for part in ("local", "server", "evaluation")
    }
    everything = sum(seconds.get("total", 0.0) for _, seconds in rows)
    return {"total": everything, "per_round": median(rounds) if rounds else None, **parts}


def _missing(run: Run) -> list[dict[str, Any]]:
    query = "SELECT round, client, text FROM events WHERE kind = 'missing' ORDER BY round, client"
    return [
        {"round": at, "client": run.name(client), "reason": plain(str(text))}
        for at, client, text in run.rows(query)
    ]
