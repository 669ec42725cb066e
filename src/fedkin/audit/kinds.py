"""What is proved and what is promised of one row of a client, kind by kind of what it sends."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedkin.audit.losses import MESSAGE, PERSONAL
from fedkin.core.kinds import KINDS, PARAMETERS
from fedkin.core.tree import Tree, is_buffer
from fedkin.experiment.run_facts import privacy_of
from fedkin.setup.build import Assembled

DELTA = 1e-5  # where no guarantee names one
EACH, SUM, HOME = "each client's", "a sum", "nothing"  # what the server sees
SCORES, NOTES, SIZES = "scores", "notes", "numbers of samples"


def by_kind(
    parts: Assembled, messages: Iterable[Tree], proofs: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Everything that clients send, with what the server sees of it and how it is protected.

    Args:
        parts: Of the run.
        messages: One of each client that was attacked.
        proofs: What canaries proved, a target each.

    Returns:
        {kind, seen, lower, upper, delta} each. lower: proved of epsilon for one row, None where
        nothing was tried. upper: what [privacy] promises, None where it promises nothing.
    """
    masked = parts.federation.masked
    sent = {kind for message in messages for kind in message}
    of_message = next((one for one in proofs if one["target"] == MESSAGE), None)
    upper, delta = guarantee(parts, MESSAGE)
    rows: list[dict[str, Any]] = [
        {
            "kind": kind,
            "seen": SUM if masked else EACH,
            "lower": of_message["lower"] if of_message and kind == PARAMETERS else None,
            "upper": upper,
            "delta": delta,
        }
        for kind in KINDS
        if kind in sent
    ]
    beside = {SCORES: SUM if masked else EACH, NOTES: HOME if masked else EACH, SIZES: EACH}
    unprotected = {"lower": None, "upper": None, "delta": DELTA}
    return [*rows, *({"kind": kind, "seen": seen, **unprotected} for kind, seen in beside.items())]


def guarantee(parts: Assembled, target: str) -> tuple[float | None, float]:
    """(ε, δ) that [privacy] promises for one row against who sees the target; ε None: nothing.

    A message is of one round more than the run had, and so is its ε. A view with running statistics
    that stay at home ([model] buffers = "local") is promised nothing.

    Where clients add the noise, a row that comes or goes is other data in the place of a client's.
    Where the server does, a client may come or go: such a row is a client that goes and another
    that comes, twice ε and (1 + e^ε) δ, which says something below 1 / rows.

    Args:
        parts: Of the run.
        target: A view of a model, or what a client sends.

    Returns:
        (ε, δ); (None, DELTA) where nothing is promised.
    """
    more = int(target == MESSAGE)  # it is of a round after the last one
    facts = privacy_of(parts, again=more)
    if facts is None or facts["seeded"] or target == PERSONAL:
        return None, DELTA
    if target != MESSAGE and _statistics_at_home(parts):
        return None, DELTA  # every view has the client's own, exactly
    if target == MESSAGE and facts["where"] != "client":
        return None, DELTA  # its noise, if any, is a share of what protects the sum
    epsilon, delta = float(facts["epsilon"]), float(facts["delta"])
    if parts.costs is not None:  # of samples
        noise = float(facts["noise"])
        return parts.costs.epsilon(noise, delta, facts["rounds"], more=more), delta
    if "epsilon_replaced" in facts:
        return float(facts["epsilon_replaced"]), delta
    of_two = (1 + math.exp(min(epsilon, 50.0))) * delta
    if of_two >= 1 / max(info.samples for info in parts.infos.values()):
        return None, DELTA  # so large a δ allows a row to be published as it is
    return 2 * epsilon, of_two


def _statistics_at_home(parts: Assembled) -> bool:
    return parts.spec.model.buffers == "local" and any(
        is_buffer(name) for model in parts.models.values() for name in model.initial
    )
