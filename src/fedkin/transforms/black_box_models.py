"""Models that are no torch modules, for methods that exchange predictions: they fit, they predict,
nothing else.

What such a model has learned is a dict of arrays, so that it is kept, sent home and counted like
everything else; it has no gradients and is never averaged. A method that can teach it says in one
function what: its ``target``.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, DistillationTarget, Method, public_set
from fedkin.core.model import Array, Inputs, LearnerBatch, Model, State
from fedkin.core.tree import Params, Tree, map_tree, row

__all__ = ["allow_black_box_models", "arrays", "tensors"]


def allow_black_box_models(method: Method) -> Method:
    """The method whose clients may hold learners: these fit what its ``target`` says, all others
    work as ever.

    Args:
        method: With a ``distillation_target``, where a client holds a learner.
    """

    def client_update(received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
        if data.model.learner is None:
            return method.client_update(received, own, data)
        return _study(method, received, own, data)

    return method._replace(client_update=client_update)


def _study(method: Method, received: Tree, own: Tree, data: ClientContext) -> tuple[Tree, Tree]:
    """A round of a learner: hear the target, fit, and tell what it predicts now."""
    assert data.model.learner is not None
    assert method.distillation_target is not None
    learner, inputs = data.model.learner
    public = public_set(data)
    target = method.distillation_target(
        received, own, _softened(data.model, own["parameters"], public, 1.0)
    )
    state = arrays(own["parameters"])
    fitted = learner.fit(state, _batches(target, public, inputs, data))
    w = tensors(fitted)
    predictions = _softened(data.model, w, public, target.temperature)
    return {**own, **target.own, "parameters": w}, {PREDICTIONS: predictions}


def _batches(
    target: DistillationTarget, public: Tensor, inputs: Inputs, data: ClientContext
) -> Iterator[LearnerBatch]:
    like = torch.zeros((), dtype=torch.float32)
    batches = data.batches(draw="uniform")
    beside = None
    if target.target is not None:
        beside = data.rows((public, target.target), target.public_batch, batches.steps, "public")
        batches = batches.zip(beside)
    for block in batches.blocks():
        for k in range(len((block[0] if beside is not None else block).y)):
            here = row(block, k)
            private, (x, soft_labels) = here if beside is not None else (here, (None, None))
            yield LearnerBatch(
                inputs(private.x, like).numpy(),
                private.y.numpy(),
                None if x is None else inputs(x, like).numpy(),
                None if soft_labels is None else soft_labels.numpy(),
                target.pull,
            )


def _softened(model: Model, w: Params, x: Tensor, temperature: float) -> Tensor:
    """Class probabilities of a public set [n, classes], softened."""
    return torch.softmax(model.outputs(w, x) / temperature, 1)


def arrays(w: Params) -> dict[str, Array]:
    """Parameters as the learner that they are of takes them.

    Args:
        w: Its state, as tensors.

    Returns:
        Arrays by the same names.
    """
    return {name: value.detach().numpy() for name, value in w.items()}


def tensors(state: State) -> Params:
    """What a learner has learned as parameters.

    Args:
        state: Arrays by name.

    Returns:
        Copies, so that nobody's arrays change under somebody else's hands; floats in single
        precision, as all are.
    """
    found = {name: torch.tensor(np.asarray(value)) for name, value in state.items()}
    single: Params = map_tree(
        lambda leaf: leaf.float() if leaf.is_floating_point() else leaf, found
    )
    return single
