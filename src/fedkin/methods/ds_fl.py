"""DS-FL (Itahara, Nishio, Koda, Morikura & Yamamoto, 2021): distillation from sharpened mean
predictions.
"""

import torch

from fedkin.core.aggregation import Mean
from fedkin.core.hyperparameters import Count, NotNegative, Positive, declared
from fedkin.core.method import Method, ServerContext
from fedkin.core.tree import Tree
from fedkin.methods.parts.codistillation import codistil


@declared
def ds_fl(
    *,
    lr: float,
    temperature: Positive = 0.1,
    distill_steps: Count = 50,
    distill_lr: NotNegative | None = None,
    public_batch: Count = 100,
) -> Method:
    """DS-FL with entropy reduction averaging: the target is softmax(mean prediction / T), T = 0.1
    in the paper.

    Readings: the softmax is taken of mean probabilities, as printed, not of logits.

    Deviations: the paper's round is train, predict, average, distil. Ours begins where the message
    comes: distil from the last round's target, train, predict; the first round has no target, as
    the paper's first has none before its training. So the personal model is the one after private
    training, and the last target is not distilled. The whole public set is exchanged, not a subset
    of it. The server's own copy of the model, distilled from the same targets, is left out: no
    message depends on it.

    Args:
        lr: Learning rate of private training.
        temperature: T; below 1 / classes or so it sharpens, a large one flattens.
        distill_steps: Mini-batches of public_batch public rows with which a client imitates the
            target (cross-entropy).
        distill_lr: Their learning rate; lr if not given, 0 is local training.
        public_batch: Public rows of a distillation step.
    """
    rate = lr if distill_lr is None else distill_lr

    def server_update(state: Tree, sent: Mean, server: ServerContext) -> Tree:
        return {"predictions": torch.softmax(sent.mean["predictions"] / temperature, 1)}

    base = codistil(
        lr=lr,
        distill_lr=rate,
        distill_steps=distill_steps,
        public_batch=public_batch,
        temperature=1.0,
    )
    return base._replace(
        name="ds_fl",
        server_update=server_update,
    )
