"""The step that draws features to class means, as in FedPAC, FedProto and FedTGP; what a client of
FedPAC tells of its features, and the best mixture of heads.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo
from fedkin.core.model import Batch, Model, head_of
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import Params, Tree
from fedkin.methods.parts.prototypes import prototypes


def described(data: ClientContext, w: Params) -> tuple[Tensor, Tensor]:
    """(h [classes, d], V [1]) of the client's training data: h_y = p_y μ_y, the class's share times
    its mean features; V = (E‖f‖² − Σ_y ‖h_y‖²) / n.

    Args:
        data: Of the client.
        w: Parameters, in evaluation mode.

    Returns:
        What FedPAC's server mixes heads by.
    """
    means, counts = prototypes(data, w)
    reference = counts[:, None] / counts.sum() * means
    with torch.inference_mode():
        squares = [
            head_of(data.model).features(w, batch.x).square().sum() for batch in data.whole("train")
        ]
    total = torch.stack(squares).sum() / counts.sum()
    variance = (total - reference.square().sum()) / counts.sum()
    return reference, variance.clamp_min(0)[None]


def objective(
    body: Params,
    model: Model,
    batch: Batch,
    head: Params,
    centroids: Tensor,
    known: Tensor,
    lam: Tensor,
) -> Tensor:
    """The loss and λ times the mean of ‖f(x) − c_y‖²/d on a mini-batch.

    Args:
        body: θ, which descends.
        model: The client's architecture.
        batch: One mini-batch.
        head: φ_i, which stands still; empty where it moves with the body.
        centroids: c [classes, d].
        known: [classes], 1 where a class has a mean.
        lam: λ.

    Returns:
        A 0-d tensor.
    """
    w, end = {**body, **head}, head_of(model)
    found = end.train_features(w, batch.x)
    apart = (found - centroids[batch.y]).square().mean(1) * known[batch.y]
    rows = model.family.nll(end.scores(w, found), batch.y) + lam * apart
    return (rows * batch.weight).sum()


def aligned_step(
    model: Model,
    body: Params,
    batch: Batch,
    head: Params,
    centroids: Tensor,
    known: Tensor,
    lam: Tensor,
    lr: Tensor,
) -> Params:
    """A step of all but the head, which stands still.

    Args:
        model: The client's architecture.
        body: θ.
        batch: One mini-batch.
        head: φ_i.
        centroids: c [classes, d].
        known: [classes], 1 where a class has a mean.
        lam: λ.
        lr: Learning rate.

    Returns:
        The new θ.
    """
    slope = gradient(objective)(body, model, batch, head, centroids, known, lam)
    return descend(body, slope, lr)


def best_mixtures(messages: Sequence[Tree]) -> list[list[float]]:
    """For each participant i, α on the simplex, least in Σ_j α_j² V_j + ‖h_i − Σ_j α_j h_j‖².

    With A the rows of √V_j and of h_i − h_j, ‖A β‖² + (Σ β − 1)² is least, over β ≥ 0, at a
    multiple of it: the best vector of a direction has the value q / (1 + q), q = ‖A α‖².
    Lengths are all that counts, so each h_i stands as its coordinates in the span of them all: no
    more numbers than participants, where h itself has as many as classes times features.

    Args:
        messages: The participants' messages, with h and V.

    Returns:
        For each of them one weight a participant, at least 0, with the sum 1.
    """
    from scipy.optimize import nnls

    h = np.stack([up["centroids"]["reference"].double().numpy().ravel() for up in messages])
    _, coordinates = np.linalg.qr(h.T)  # one column a participant
    spread = np.sqrt([float(up["coefficients"]["variance"]) for up in messages])
    rows = np.vstack([np.diag(spread), coordinates, np.ones(len(messages))])
    goal = np.zeros(len(rows))
    goal[-1] = 1.0
    mixtures = []
    for mine in coordinates.T:
        rows[len(messages) : -1] = mine[:, None] - coordinates
        found, _ = nnls(rows, goal)
        mixtures.append([float(share) for share in found / found.sum()])
    return mixtures


def expected(received: Tree, info: ClientInfo) -> Tree:
    """What a client's message must look like.

    Args:
        received: What the client was sent, by kind.
        info: Of the client.

    Returns:
        Trees of the same names and shapes.
    """
    like, counts = received["centroids"], received["coefficients"]
    return {
        "parameters": received["parameters"],
        "centroids": {"means": like, "reference": like},
        "coefficients": {"counts": counts, "variance": counts[:1]},
    }


def merged(messages: Iterable[Tree], state: Tree) -> Tree:
    """c_y = Σ n_iy c_iy / Σ n_iy, and which classes have one; a class that nobody has keeps its
    last.

    Args:
        messages: The participants' messages.
        state: Of the server.

    Returns:
        "centroids" [classes, d], and "coefficients" [classes], 1 where a class has one.
    """
    centroids, known = state["centroids"], state["coefficients"]
    total, mass = torch.zeros_like(centroids).double(), torch.zeros_like(known).double()
    for up in messages:
        counts = up["coefficients"]["counts"].double()
        total.addcmul_(counts[:, None], up["centroids"]["means"].double())
        mass += counts
    mean = (total / mass.clamp_min(1)[:, None]).to(centroids.dtype)
    return {
        "centroids": torch.where(mass[:, None] > 0, mean, centroids),
        "coefficients": torch.maximum((mass > 0).to(known.dtype), known),
    }
