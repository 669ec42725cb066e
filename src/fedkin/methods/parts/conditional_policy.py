"""FedCP's conditional policy: a small network that splits a sample's features between two heads."""

import torch
from torch import Tensor

from fedkin.core.model import Batch, Head, Model, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params
from fedkin.methods.parts.extra_parameters import uniform_layer, without

POLICY = "policy:"  # no parameter of a torch module begins so
WIDTHS = (10.0, 15.0, 20.0, 50.0)  # of the kernels that are added, as in the authors' code


def network(size: int, dtype: torch.dtype, draw: torch.Generator) -> Params:
    """Θ: a linear layer uniform within 1/√size, and a layer normalization that begins as plain.

    Args:
        size: K, numbers in a row of features.
        dtype: Of the parameters.
        draw: What draws them.

    Returns:
        Parameters by name; the layer gives 2K numbers.
    """
    return {
        POLICY + "weight": uniform_layer(draw, size, 2 * size, size).to(dtype),
        POLICY + "bias": uniform_layer(draw, size, 2 * size).to(dtype),
        POLICY + "norm.weight": torch.ones(2 * size, dtype=dtype),
        POLICY + "norm.bias": torch.zeros(2 * size, dtype=dtype),
    }


def direction(w: Params, head: Head) -> Tensor:
    """v/‖v‖ [K], v the sum over classes of the rows of a linear head.

    Args:
        w: Parameters that hold the head.
        head: A linear one.

    Returns:
        A vector of length 1, or of zeros.
    """
    weight = next(w[name] for name in head.names if w[name].dim() == 2)
    return torch.nn.functional.normalize(weight.sum(0), dim=0)


def policy(w: Params, found: Tensor, toward: Tensor) -> Tensor:
    """r [rows, K]: what of each feature is personal; s = 1 − r is global.

    Args:
        w: Parameters that hold the network.
        found: Features h [rows, K].
        toward: v/‖v‖ [K].

    Returns:
        Numbers in (0, 1).
    """
    a = (found * toward) @ w[POLICY + "weight"].T + w[POLICY + "bias"]
    norm = w[POLICY + "norm.weight"], w[POLICY + "norm.bias"]
    a = torch.relu(torch.nn.functional.layer_norm(a, a.shape[-1:], *norm))
    size = found.shape[1]
    return torch.sigmoid(a[:, :size] - a[:, size:])


def separated(model: Model, w: Params, fixed: Params, found: Tensor, toward: Tensor) -> Tensor:
    """g(r ∘ h; personal) + g(s ∘ h; global) [rows, classes].

    Args:
        model: The client's architecture.
        w: Parameters with the personal head and the policy.
        fixed: Parameters with the global head.
        found: Features h [rows, K].
        toward: v/‖v‖ [K].

    Returns:
        Linear predictors (logits).
    """
    head, share = head_of(model), policy(w, found, toward)
    return head.scores(w, share * found) + head.scores(fixed, (1 - share) * found)


def discrepancy(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    """The squared maximum mean discrepancy of two samples [rows, K] by Gaussian kernels
    Σ_σ e^{−‖x − y‖²/2σ} of the WIDTHS σ.

    Args:
        a: One sample.
        b: The other, of as many rows.
        weight: [rows] of both, with the sum 1.

    Returns:
        A 0-d tensor, not negative.
    """

    def mean(x: Tensor, y: Tensor) -> Tensor:
        apart = (x[:, None] - y).square().sum(2)
        kernels = torch.stack([torch.exp(apart / (-2 * width)) for width in WIDTHS]).sum(0)
        return weight @ kernels @ weight

    return mean(a, a) + mean(b, b) - 2 * mean(a, b)


def objective(
    w: Params, model: Model, batch: Batch, received: Params, toward: Tensor, lam: Tensor
) -> Tensor:
    """ℓ of both heads on the separated features, and λ times the discrepancy between features of
    the trained and of the received extractor.

    Args:
        w: The extractor, the personal head and the policy, which descend.
        model: The client's architecture.
        batch: One mini-batch.
        received: The extractor and the head of the server.
        toward: v/‖v‖ [K].
        lam: λ.

    Returns:
        A 0-d tensor.
    """
    head = head_of(model)
    found = head.train_features(without(w, POLICY), batch.x)
    before = head.features(without(received, POLICY), batch.x)
    rows = model.family.nll(separated(model, w, received, found, toward), batch.y)
    return (rows * batch.weight).sum() + lam * discrepancy(found, before, batch.weight)


def separated_step(
    model: Model,
    w: Params,
    batch: Batch,
    received: Params,
    toward: Tensor,
    lam: Tensor,
    lr: Tensor,
) -> Params:
    """One step of the extractor, the personal head and the policy.

    Args:
        model: The client's architecture.
        w: What descends.
        batch: One mini-batch.
        received: The extractor and the head of the server, which stand still.
        toward: v/‖v‖ [K].
        lam: λ.
        lr: Learning rate.

    Returns:
        The new w.
    """
    return descend(w, gradient(objective)(w, model, batch, received, toward, lam), lr)
