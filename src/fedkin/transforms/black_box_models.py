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

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL, Family
from fedkin.core.kinds import PREDICTIONS
from fedkin.core.method import ClientContext, DistillationTarget, Method, public_set
from fedkin.core.model import RAW, Array, Inputs, Learner, LearnerBatch, Model, State
from fedkin.core.tree import Params, Tree, map_tree, row

__all__ = ["allow_black_box_models", "from_learner"]

TINY = 1e-7  # the least probability that is passed on, for its logarithm


def from_learner(
    name: str, learner: Learner, inputs: Inputs = RAW, family: Family = CATEGORICAL
) -> Model:
    """A learner as a Model: its parameters are its state, its outputs the logarithms of its
    probabilities.

    Args:
        name: Of the model.
        learner: How it starts, fits and predicts.
        inputs: How samples enter it.
        family: What predictions are.

    Returns:
        A model without gradients, whose ``learner`` is set.
    """
    like = torch.zeros((), dtype=torch.float32)

    def outputs(w: Params, x: Tensor) -> Tensor:
        found = torch.from_numpy(
            np.asarray(learner.predict(_arrays(w), inputs(x, like).numpy()), dtype=np.float32)
        )
        return found.clamp_min(TINY).log()

    def no_gradients(w: Params, x: Tensor) -> Tensor:
        raise FedkinError(f"model {name!r} is no torch module and has no gradients")

    initial = _tensors(learner.start())
    return Model(
        name,
        initial,
        family,
        outputs,
        no_gradients,
        pads=False,
        learner=(learner, inputs),
        why_no_head="it is no torch module",
    )


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
    state = _arrays(own["parameters"])
    fitted = learner.fit(state, _batches(target, public, inputs, data))
    w = _tensors(fitted)
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
        batches = batches.beside(beside)
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


def _arrays(w: Params) -> dict[str, Array]:
    return {name: value.detach().numpy() for name, value in w.items()}


def _tensors(state: State) -> Params:
    """Copies, so that nobody's arrays change under somebody else's hands; floats in single
    precision, as all are.
    """
    found = {name: torch.tensor(np.asarray(value)) for name, value in state.items()}
    single: Params = map_tree(
        lambda leaf: leaf.float() if leaf.is_floating_point() else leaf, found
    )
    return single
