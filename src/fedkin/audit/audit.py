"""``fedkin audit``: attacks on a finished run, and what they prove beside what is accounted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedkin.audit.guesses import LOW_RATE, confidence_of_each, proved, separation_in_clients
from fedkin.audit.inversion import inverted, rebuilt
from fedkin.audit.kinds import by_kind, guarantee
from fedkin.audit.labels import correlation, inferred
from fedkin.audit.losses import MESSAGE, PERSONAL, Observed, seen
from fedkin.audit.properties import properties
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.data.arrays import Array
from fedkin.data.canaries import Canaries, canaries_of
from fedkin.engine.host import Host
from fedkin.engine.transports.base import InProcess
from fedkin.experiment.run_facts import privacy_of
from fedkin.report.intervals import exact_of_share
from fedkin.runtime.progress import tracked
from fedkin.setup.build import Assembled
from fedkin.setup.loaded_run import Loaded, load, states_used
from fedkin.setup.privacy import secret_for

MOST = 100  # clients that are attacked
SHADOWS = 8  # other clients' models that say what a sample costs who never saw it
CONFIDENCE = 0.95
LEAST = 1e-3  # standard deviation of a sample's losses


def audit(folder: Path, trust_code: bool = False, method: Method | None = None) -> dict[str, Any]:
    """Attack a finished run, which stays as it is.

    Args:
        folder: The run directory.
        trust_code: The code that its specification names may be imported.
        method: The Method value that it ran, where it was one.

    Returns:
        What ``fedkin audit --json`` prints: "membership", "labels", "properties", "inversion",
        "canaries", "kinds", "accounted".

    Raises:
        FedkinError: It is no run, a deployment's, not finished, or has states of another method.
    """
    loaded = load(folder, method=method, trust_code=trust_code)
    if not loaded.at.finished:
        raise FedkinError(
            f"{folder} is not finished, and an audit is of the models that come out: fedkin resume "
            f"{folder}"
        )
    with states_used(folder):
        return _attacked(loaded, folder)


def _attacked(loaded: Loaded, folder: Path) -> dict[str, Any]:
    """What ``audit`` returns."""
    coordinator, parts, at = loaded
    host = _host(loaded, folder)
    clients = sorted(parts.infos)[:MOST]
    seen_of = {
        client: seen(coordinator, host, client, parts.spec.run.rounds, at.trained)
        for client in tracked("clients looked at", clients)
    }
    parts = _as_it_ended(parts, at.trained)
    canaries = canaries_of(parts.population)
    proofs = None if canaries is None else _canaries(parts, seen_of, canaries)
    planted = set() if canaries is None else set(canaries.rows.tolist())
    return {
        "run": str(folder),
        "method": parts.method.name,
        "rounds": parts.spec.run.rounds,
        "clients": len(clients),
        "of": len(parts.infos),
        "false_alarms": LOW_RATE,
        "confidence": CONFIDENCE,
        "membership": _membership(parts, seen_of, planted),
        **_told(parts, seen_of),
        "inversion": _inversion(parts, seen_of, planted),
        "canaries": proofs,
        "kinds": by_kind(parts, [one.message for one in seen_of.values()], proofs or []),
        "accounted": privacy_of(parts),
    }


def _as_it_ended(parts: Assembled, trained: int) -> Assembled:
    """Of the rounds that there were, which are fewer than planned where training ended early."""
    return parts._replace(spec=parts.spec.replace("run", rounds=trained))


def _host(loaded: Loaded, folder: Path) -> Host:
    transport, spec = loaded.coordinator.transport, loaded.parts.spec
    assert isinstance(transport, InProcess)
    if spec.privacy.at_client:
        transport.host.secret = secret_for(spec, folder)
    return transport.host


def _targets(seen_of: Mapping[int, Observed]) -> list[str]:
    names = {name for one in seen_of.values() for name in one.models}
    return sorted(names, key=lambda name: (name != PERSONAL, name == MESSAGE, name))


def _membership(
    parts: Assembled, seen_of: Mapping[int, Observed], planted: set[int]
) -> list[dict[str, Any]]:
    """Attacks that ask of a client's own samples which of them it trained on."""
    people = parts.population
    rows = []
    for target in _targets(seen_of):
        scores: dict[str, list[tuple[Array, Array]]] = {"loss": [], "likelihood ratio": []}
        for client, one in seen_of.items():
            if target not in one.models:
                continue
            members = _but(people.train[client], planted)
            others = people.test[client]
            if len(members) == 0 or len(others) == 0:
                continue
            both = np.concatenate([members, others])
            by = {"loss": -_losses(parts, one, target, both)}
            ratio = _ratio(parts, seen_of, client, target, both)
            by |= {} if ratio is None else {"likelihood ratio": ratio}
            for name, value in by.items():
                scores[name].append((value[: len(members)], value[len(members) :]))
        for name, each in scores.items():
            if each:
                told = separation_in_clients(each)._asdict()
                rows.append({"target": target, "attack": name, **told})
    return rows


def _ratio(
    parts: Assembled, seen_of: Mapping[int, Observed], client: int, target: str, rows: Array
) -> Array | None:
    """The likelihood ratio of Carlini et al. (2022), offline: how far a sample's loss lies below
    its losses on other clients' models, in their standard deviations; None where those are the same
    model. Models that diverged say nothing of a sample, and are not among those.
    """
    own = seen_of[client].models[target]
    others = [
        one.models[target]
        for other, one in seen_of.items()
        if other != client
        and target in one.models
        and one.models[target].model.name == own.model.name
    ]
    step = max(1, len(others) // SHADOWS)
    x, y = _samples(parts, rows)
    every = (one.losses(x, y) for one in others[::step][:SHADOWS])
    shadows = [losses for losses in every if np.isfinite(losses).all()]
    if len(shadows) < 2:
        return None
    usual, spread = np.mean(shadows, 0), np.std(shadows, 0)
    if float(spread.max()) == 0:  # one model for all
        return None
    ratio: Array = (usual - own.losses(x, y)) / np.maximum(spread, LEAST)
    return ratio


def _told(parts: Assembled, seen_of: Mapping[int, Observed]) -> dict[str, Any]:
    """How well messages tell how many samples of each class their senders have, and what follows
    from it of a sender as a whole.
    """
    nothing = {"labels": None, "properties": None}
    classes = parts.population.classes
    if classes < 2:
        return nothing
    guesses = {client: inferred(one, classes) for client, one in seen_of.items()}
    guessed = {client: of.scores for client, of in guesses.items() if of is not None}
    # of one that diverged nothing is inferred
    known = {client: scores for client, scores in guessed.items() if np.isfinite(scores).all()}
    histograms = torch.from_numpy(parts.population.histogram("train"))
    right, of_all = correlation(known, histograms), properties(known, histograms)
    if right is None or of_all is None:
        return nothing
    kind = next(of.kind for of in guesses.values() if of is not None)
    labels = {"correlation": right, "clients": len(known)}
    return {"labels": labels, "properties": {"kind": kind, **of_all._asdict()}}


def _inversion(
    parts: Assembled, seen_of: Mapping[int, Observed], planted: set[int]
) -> dict[str, Any] | None:
    """Which samples can be rebuilt from what clients send."""
    people = parts.population
    if not people.x.is_floating_point() and people.x.dtype != torch.uint8:
        return None  # rows of symbols, of which layers see no numbers
    each = []
    for client, one in seen_of.items():
        members, others = _but(people.train[client], planted), people.test[client]
        if len(members) == 0 or len(others) == 0:
            continue
        pair = (_samples(parts, rows)[0] for rows in (members, others))
        each.append(rebuilt(one, *pair))
    inversion = inverted([one for one in each if one is not None])
    return None if inversion is None else inversion._asdict()


def _canaries(
    parts: Assembled, seen_of: Mapping[int, Observed], planted: Canaries
) -> list[dict[str, Any]]:
    """What guesses on canaries prove of ε, beside what is accounted."""
    rows = []
    for target in _targets(seen_of):
        scores = np.full(len(planted.rows), np.nan)
        asked = np.zeros(len(planted.rows), bool)  # of the clients that are attacked
        for client, one in seen_of.items():
            here = planted.clients == client
            if target in one.models and here.any():
                wrong = planted.rows[here]
                ratio = _ratio(parts, seen_of, client, target, wrong)
                scores[here] = -_losses(parts, one, target, wrong) if ratio is None else ratio
                asked |= here
        used = np.isfinite(scores)
        if used.sum() < 2:  # a guess "in" and a guess "out" are of two canaries
            continue
        upper, delta = guarantee(parts, target)
        best = proved(scores[asked], planted.inside[asked], delta, CONFIDENCE)
        each = confidence_of_each(CONFIDENCE)  # as the bound: ``best`` was chosen on these guesses
        low, high = exact_of_share(best.right / best.guesses, best.guesses, each)
        rows.append(
            {
                "target": target,
                "canaries": int(used.sum()),
                "guesses": best.guesses,
                "right": best.right,
                "share": [low, high],
                "lower": best.epsilon,
                "upper": upper,
                "delta": delta,
            }
        )
    return rows


def _losses(parts: Assembled, one: Observed, target: str, rows: Array) -> Array:
    return one.models[target].losses(*_samples(parts, rows))


def _samples(parts: Assembled, rows: Array) -> tuple[torch.Tensor, torch.Tensor]:
    at = torch.from_numpy(np.asarray(rows, np.int64))
    return parts.population.x[at], parts.population.y[at]


def _but(rows: Array, planted: set[int]) -> Array:
    return np.array([row for row in rows if row not in planted], np.int64)
