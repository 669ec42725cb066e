"""PPFL's client moves its membership c by entropic mirror steps on the simplex (eq. 24 and 25)."""

from typing import Literal, NamedTuple

from torch import Tensor

from fedkin.core.method import ClientContext
from fedkin.core.model import Batch, Model
from fedkin.core.ops import scan, simplex_step
from fedkin.core.optimizers import PLAIN
from fedkin.core.tree import Params
from fedkin.methods.parts.ppfl.canonical_models import CanonicalModels


def mirror_step(c: Tensor, gradient: Tensor, pull: Tensor, rate: float | Tensor) -> Tensor:
    """c ∘ exp(−η (p_i ∇_c f_i + 2λ(LC)_i)), normalised.

    Args:
        c: The membership [K].
        gradient: p_i ∇_c f_i [K].
        pull: λ(LC)_i [K].
        rate: η.

    Returns:
        [K], on the simplex.
    """
    return simplex_step(c, gradient + 2 * pull, rate)


class MirrorSteps(NamedTuple):
    """The steps of one round."""

    f: CanonicalModels
    steps: Literal["full", "batches"] | int  # full gradients, one or so many; or one a mini-batch

    def moved(
        self,
        c: Tensor,
        theta: Params,
        p: float,
        pull: Tensor,
        rate: float,
        data: ClientContext,
    ) -> Tensor:
        """c after the steps of a round, during which θ and λ(LC)_i stay as they were received.

        Args:
            c: The membership [K].
            theta: θ.
            p: p_i, the weight of the client's loss.
            pull: λ(LC)_i [K].
            rate: η.
            data: The client's.

        Returns:
            [K], on the simplex.
        """
        if self.steps == "batches":
            batches = data.batches(purpose="membership")._replace(optimizer=PLAIN)
            after: Tensor = scan(self.stochastic, c, batches, theta, rate, p, pull)
            return after
        for _ in range(1 if self.steps == "full" else self.steps):
            gradient = self.f.full_membership_gradient(c, theta, data)
            c = mirror_step(c, p * gradient, pull, rate)
        return c

    def stochastic(
        self,
        model: Model,
        c: Tensor,
        batch: Batch,
        theta: Params,
        rate: Tensor,
        p: Tensor,
        pull: Tensor,
    ) -> Tensor:
        """One step with the gradient on a mini-batch (Algorithm 2), for ``scan``.

        Args:
            model: The client's architecture.
            c: The membership [K].
            batch: The mini-batch.
            theta: θ.
            rate: η.
            p: p_i.
            pull: λ(LC)_i [K].

        Returns:
            [K], on the simplex.
        """
        return mirror_step(c, p * self.f.membership_gradient(c, model, theta, batch), pull, rate)
