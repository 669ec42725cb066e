"""The message for training that diverged, with the step sizes to lower."""

import math
from collections.abc import Collection, Mapping

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.engine.codec import LARGEST, NOT_FINITE

# how the reasons end against a model that diverged
DIVERGED = (NOT_FINITE, f"numbers are at most {LARGEST:g}")


def diverged(number: int, sign: str, method: Method) -> str:
    """What to tell, and which steps to lower: a personal model has often one of its own.

    Args:
        number: Of the round.
        sign: What shows it.
        method: Whose hyper-parameters are named.

    Returns:
        A sentence with the round, the sign, and the settings to lower.
    """
    own = [f"method.{name}" for name in method.hyper if name.endswith("_lr")]
    return f"round {number}: training diverged ({sign}): lower {' or '.join(['train.lr', *own])}"


def is_divergence(error: FedkinError) -> bool:
    """Whether an error is that training diverged.

    Args:
        error: What ended a run.

    Returns:
        True of what ``diverged`` words.
    """
    return ": training diverged (" in str(error)


def all_diverged(reasons: Collection[str]) -> bool:
    """Whether every client was left out because its model diverged.

    Args:
        reasons: Why, a client each.

    Returns:
        False where nobody was left out.
    """
    return bool(reasons) and all(why.endswith(DIVERGED) for why in reasons)


def check_losses(
    number: int,
    scores: Mapping[int, Mapping[str, Mapping[str, tuple[float, float]]]],
    method: Method,
    unscored: Collection[int] = (),
) -> None:
    """Clients who send nothing (``local``) diverge in silence otherwise: no message of theirs is
    refused.

    Args:
        number: Of the round.
        scores: Client → view → split → (loss, accuracy).
        method: Whose hyper-parameters are named.
        unscored: Clients without samples to score: that they have no loss says nothing.

    Raises:
        FedkinError: No loss is finite.
    """
    losses = [
        loss
        for client, views in scores.items()
        if client not in unscored
        for splits in views.values()
        for loss, _ in splits.values()
    ]
    if losses and not any(map(math.isfinite, losses)):
        raise FedkinError(diverged(number, "no client's model has a finite loss", method))
