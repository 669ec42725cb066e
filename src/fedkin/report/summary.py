"""A run in numbers: what ``fedkin show DIR --json`` prints."""

from collections.abc import Collection, Mapping
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median
from typing import Any

from fedkin.core.escaping import plain
from fedkin.core.measures import ASIDE, MEASURES, measure_named, misleads
from fedkin.core.system.user_code import is_user_code
from fedkin.report import formatting
from fedkin.report.intervals import over_clients
from fedkin.report.ledger import communication
from fedkin.report.newcomers import unseen
from fedkin.report.records import Run, opened
from fedkin.report.scores import (
    chosen_rounds,
    counted,
    curves,
    measure_of,
    measures,
    scores,
    spread,
    values,
)
from fedkin.report.words import run_words
from fedkin.report.words.baseline_warnings import beaten
from fedkin.report.worst_clients import worst_clients
from fedkin.runs.bounds import is_number, sentence
from fedkin.runs.spec import SplitSection

__all__ = [
    "evaluated",
    "extras",
    "label_counts",
    "numbers_of",
    "of_run",
    "other_measures",
    "split_parameters",
    "summary",
    "worst_of",
]

FINAL = "final"
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
    "privacy",
)


def summary(folder: Path) -> dict[str, Any]:
    """The run's settings and its numbers.

    ``headline`` is the experiment's measure, by which the best round by validation was found.
    Scores are on TEST, as fractions and means per sample. An unfinished run is summed up as far as
    it is committed (``finished`` is False).

    Args:
        folder: The run directory.

    Returns:
        {name: value}, all of them plain JSON values; None where nothing was measured.

    Raises:
        FedkinError: The folder is no run, or a damaged one.
    """
    with opened(folder) as run:
        return of_run(run)


def of_run(run: Run, asked: str | None = None) -> dict[str, Any]:
    """``summary`` of an open run.

    Args:
        run: Opened for reading.
        asked: A measure in place of the run's own; None: its own.

    Returns:
        As ``summary``.
    """
    measure = asked or measure_of(run)
    accuracy, loss, headline = _numbers(run, measure)
    counts, baselines = label_counts(run), _baselines(run, measure)
    warnings = [misleading] if counts and (misleading := misleads(counts)) else []
    warnings += [sentence(plain(str(one))) for one in run.facts.get("warnings") or []]
    return {
        "run": run.folder.name or str(run.folder),
        **{name: run.facts.get(name) for name in FACTS},
        "split_parameters": split_parameters(run.facts),
        "clients": run.facts.get("clients", len(run.clients)),
        "rounds": run.committed(),
        "planned": run.planned(),
        "finished": run.finished,
        "measure": measure,
        "evaluated": evaluated(run),
        "why": run.facts.get("why") or "",
        "warnings": [*warnings, *beaten(run, measure, headline, list(baselines))],
        "headline": headline,
        "worst_clients": _worst(run, measure, headline),
        "baselines": baselines,
        "accuracy": accuracy,
        "loss": loss,
        "measures": {
            view: _measures(run, picks["final"]["round"], view) for view, picks in loss.items()
        },
        "communication": communication(run),
        "seconds": _seconds(run),
        "missing": _missing(run),
        "extras": extras(run),
        "honest": _honest(run, measure, headline),
        "unseen": unseen(run),
    }


def _honest(run: Run, measure: str, headline: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a run with attackers, {clients, attackers, views}: the last round's mean over the others,
    by view; None where nobody attacks.
    """
    clients = run.rows(
        "SELECT client, max(value) FROM notes WHERE name = 'attacker' GROUP BY client"
    )
    hostile = {client for client, value in clients if run.read(value, is_number) > 0}
    if not hostile:
        return None
    views = {}
    for view, picks in headline.items():
        by_client = values(run, picks["final"]["round"], view, measure)
        known = [v for client, v in by_client.items() if client not in hostile and v is not None]
        views[view] = fmean(known) if known else None
    return {"clients": len(clients) - len(hostile), "attackers": len(hostile), "views": views}


def split_parameters(facts: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the run's partition, as its specification has them.

    Args:
        facts: The run's.

    Returns:
        {name: value}; {} where the partition has none, or nobody made one.
    """
    spec = (facts.get("spec") or {}).get("split") or {}
    if facts.get("split") != spec.get("name"):  # nodes' own data, whatever the specification says
        return {}
    return {name: value for name, value in spec.items() if name not in SplitSection.model_fields}


def extras(run: Run) -> dict[str, dict[str, Any]]:
    """The last value of everything that clients or the server said of the run.

    Args:
        run: Opened for reading.

    Returns:
        {name: {client's name: the last value it reported}}; what is said of all of them has the
        name "federation".
    """
    # In SQLite the bare column `value` comes from the row that has the maximum.
    query = (
        "SELECT client, name, value, max(round) FROM notes GROUP BY name, client ORDER "
        "BY name, client"
    )
    last_values: dict[str, dict[str, Any]] = {}
    for client, name, value, _ in run.rows(query):
        last_values.setdefault(name, {})[run.name(client)] = run.read(value)
    return last_values


def label_counts(run: Run) -> list[int]:
    """Training samples of each class over all clients.

    Args:
        run: Opened for reading.

    Returns:
        [classes]; [] for a regression, and where counts are unknown.
    """
    if (summed := run.facts.get("label_counts")) is not None:  # of a run under masks
        return list(summed)
    rows = [client.histogram for client in run.clients.values() if client.histogram]
    return [sum(column) for column in zip_longest(*rows, fillvalue=0)]


def _numbers(run: Run, measure: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Accuracy, loss, and the experiment's measure, each by view.

    The best round by validation is the measure's.
    """
    weights = {k: client.test for k, client in run.clients.items()}
    accuracy: dict[str, Any] = {}
    loss: dict[str, Any] = {}
    headline: dict[str, Any] = {}
    chosen = curves(run, measure)
    for view, curve in (chosen if measure == "accuracy" else curves(run)).items():
        rounds = chosen_rounds(curve)
        picked = chosen_rounds(chosen[view], measure_named(measure).higher)
        rounds["best_by_validation"] = picked["best_by_validation"]
        last = rounds["final"]
        assert last is not None  # a view exists because a round has it
        losses = {k: value for k, (value, _) in scores(run, last, view).items()}
        summed = counted(run, last, view, "loss")
        loss[view] = {"final": {**spread(losses, weights, "high", summed), "round": last}}
        # else a regression, which has no accuracy
        if any(value is not None for value in curve.test):
            accuracy[view] = _picks(run, rounds, view, "accuracy", weights)
        headline[view] = (
            {name: numbers and dict(numbers) for name, numbers in accuracy[view].items()}
            if measure == "accuracy" and view in accuracy
            else _picks(run, picked, view, measure, weights)
        )
        headline[view]["final"]["interval"] = over_clients(
            values(run, last, view, measure), measure
        )
    return accuracy, loss, headline


def _worst(run: Run, measure: str, headline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of the first view, in its last round."""
    for view, picks in headline.items():
        return worst_clients(run, picks["final"]["round"], view, measure)
    return []


def _baselines(run: Run, measure: str) -> dict[str, Any]:
    """{"constant", "linear": numbers over clients} by the run's own measure; {} of others."""
    if measure != run.facts.get("measure"):
        return {}
    weights = {k: client.test for k, client in run.clients.items()}
    known: dict[str, dict[str, float]] = run.facts.get("baselines") or {}
    clients: dict[str, int] = run.facts.get("baselines_of") or {}
    by_baseline = {}
    for name, by_client in known.items():
        each: dict[int, float | None] = {int(k): value for k, value in by_client.items()}
        if each:
            by_baseline[name] = {
                **spread(each, weights, worst_of(measure), (clients.get(name, 0), 0)),
                "interval": over_clients(each, measure),
            }
    return by_baseline


def _measures(run: Run, last: int, view: str) -> dict[str, Any]:
    """The measures over clients on test in the last round: of a finished run, else the experiment's
    alone.
    """
    weights = {k: client.test for k, client in run.clients.items()}
    defined = measures(run, last, view)
    own = filter(is_user_code, defined)
    by_measure = {name: defined[name] for name in (*MEASURES, *own, *ASIDE) if name in defined}
    return {
        name: spread(by_client, weights, worst_of(name), counted(run, last, view, name))
        for name, by_client in by_measure.items()
    }


def worst_of(name: str) -> str:
    """Which values of a measure are bad, as ``spread`` asks.

    Args:
        name: Of a measure, "loss", or what is recorded beside measures.

    Returns:
        "low" or "high".
    """
    if name in ASIDE:
        return "high"
    return "low" if measure_named(name).higher else "high"


def _picks(
    run: Run, rounds: Mapping[str, int | None], view: str, measure: str, weights: dict[int, int]
) -> dict[str, Any]:
    """The numbers of each chosen round: of a panel, where there is one, but for the final ones."""
    panel = run.panel()
    return {
        name: _at(run, at, view, measure, weights, None if name == FINAL else panel)
        for name, at in rounds.items()
    }


def _at(
    run: Run,
    at: int | None,
    view: str,
    measure: str,
    weights: dict[int, int],
    panel: Collection[int] | None,
) -> dict[str, Any] | None:
    """A round's numbers over clients; ``panel``: over those alone, with the interval of the mean.
    ``interval`` is there too where each round's participants were evaluated.
    """
    if at is None:
        return None
    known = values(run, at, view, measure)
    if panel is not None:
        known = {client: value for client, value in known.items() if client in panel}
    summed = counted(run, at, view, measure)
    numbers = {**spread(known, weights, worst_of(measure), summed), "round": at}
    if panel is not None or run.evaluated() == "participants":
        numbers["interval"] = over_clients(known, measure)
    return numbers


def evaluated(run: Run) -> dict[str, Any] | None:
    """Whom rounds before the last evaluated.

    Args:
        run: Opened for reading.

    Returns:
        {"who": "participants" or "panel", "of": all clients}, and "clients" of a panel; None where
        everybody was evaluated.
    """
    if run.evaluated() == "participants":
        return {"who": "participants", "of": len(run.clients)}
    panel = run.panel()
    if panel is None:
        return None
    return {"who": "panel", "clients": len(panel), "of": len(run.clients)}


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
        {"round": at, "client": run.name(client), "reason": sentence(plain(str(text)))}
        for at, client, text in run.rows(query)
    ]


def numbers_of(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers of a summary that one looks at first.

    Args:
        found: As ``summary`` returns it.

    Returns:
        (name, text) pairs: method, data, rounds, and the final numbers of each view.
    """
    rows = [
        ("method", str(found["method"])),
        ("data", str(found["data"])),
        ("rounds", run_words.progress(found)),
    ]
    for view, picks in found["headline"].items():
        mean, worst = (
            formatting.value(found["measure"], picks["final"][part])
            for part in ("mean", "worst_decile")
        )
        name = f"{view} test {formatting.label(found['measure'])}"
        rows.append((name, f"{mean}, worst decile {worst}"))
    return rows


def other_measures(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a run (a ``summary``): {view: {name: numbers}} of what stands beside its own measure,
    final.

    A global view that is the personal one in every number is left out.

    Args:
        found: The summary.

    Returns:
        {} where the run measures nothing else.
    """
    every: dict[str, dict[str, Any]] = {}
    for view, measured in found["measures"].items():
        accuracy = (found["accuracy"].get(view) or {}).get("final")
        loss = {} if not found["accuracy"] else {"log_loss": found["loss"][view]["final"]}
        known = {**({"accuracy": accuracy} if accuracy else {}), **loss, **measured}
        shown = {
            name: numbers for name, numbers in known.items() if name not in (found["measure"], "se")
        }
        if measured and (view == "personal" or shown != every.get("personal")):
            every[view] = shown
    return every
