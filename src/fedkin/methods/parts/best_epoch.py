"""Local epochs of which the one is kept that validates best."""

import math

from fedkin.core.method import ClientContext
from fedkin.core.ops import scan, sgd_step
from fedkin.core.tree import Params, Tree


def best_epoch(w: Params, data: ClientContext, epochs: int, rate: float) -> Tree:
    """w after the number of epochs, 0 to ``epochs``, that validates best at this client.

    Args:
        w: Where the first epoch starts.
        data: The client's.
        epochs: The most that it runs.
        rate: Learning rate of SGD, before the schedule's decay.

    Returns:
        ``parameters``, and the number of ``epochs`` that they took.
    """
    found, least = {"parameters": w, "epochs": 0}, data.rank(w, "val")
    for epoch in range(epochs):
        batches = data.batches(purpose=f"finetune {epoch}", epochs=1)
        w = scan(sgd_step, w, batches, rate * data.decay)
        now = data.rank(w, "val")
        if now < least or math.isnan(least[1]):  # nan: it has no validation rows
            found, least = {"parameters": w, "epochs": epoch + 1}, now
    return found


def tuned_epochs(own: Tree) -> dict[str, float]:
    """How many epochs a client kept.

    Args:
        own: Its state, as ``best_epoch`` leaves it, or any other.

    Returns:
        For the record; nothing where nothing was chosen.
    """
    return {"tuned_epochs": own["epochs"]} if "epochs" in own else {}
