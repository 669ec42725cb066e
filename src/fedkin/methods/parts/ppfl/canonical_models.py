"""PPFL's client: f_i(θ, c), its loss where a membership c mixes canonical models, and the gradients
that move θ and c.

θ holds canonical parameters stacked along a first axis [K, …], and shared ones (θ_com) as they are.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from fedkin.core.errors import unknown
from fedkin.core.layers import Layers, select
from fedkin.core.method import ClientContext
from fedkin.core.model import Batch, Model
from fedkin.core.ops import full_gradient, gradient
from fedkin.core.tree import Params, Tree, is_buffer
from fedkin.methods.parts.ppfl.mixing import (
    mixed_logits,
    mixed_outputs,
    mixed_parameters,
    prediction,
    stacked,
    unstacked,
)


class CanonicalModels(NamedTuple):
    """Which layers are canonical, and what of them is mixed."""

    layers: Layers
    structure: Literal[1, 2]  # 1 mixes outputs (figure 2a), 2 parameters (figure 2b)
    mixing: Literal["means", "logits"]  # of structure 1

    def names(self, theta: Params) -> frozenset[str]:
        """Which parameters are canonical: running statistics are shared.

        Args:
            theta: Parameters by name.

        Returns:
            A set of names.
        """
        chosen = select(theta, self.layers, "canonical layer")
        return frozenset(name for name in chosen if not is_buffer(name))

    def stacked(self, initial: Params, drawn: Sequence[Params]) -> Params:
        """The first θ.

        Args:
            initial: Parameters of one model.
            drawn: Those of K models.

        Returns:
            Shared parameters of the one, and canonical ones of the K.

        Raises:
            FedkinError: No parameter is canonical.
        """
        names = self.names(initial)
        if not names:
            weights = [n for n in initial if not is_buffer(n)]
            raise unknown("canonical layer", str(self.layers), weights)
        return {
            n: torch.stack([w[n] for w in drawn]) if n in names else w0 for n, w0 in initial.items()
        }

    def loss(self, parts: Params, model: Model, c: Tensor, batch: Batch) -> Tensor:
        """f_i(θ, c) on a mini-batch.

        Args:
            parts: θ, as ``parts`` has it.
            model: The client's architecture.
            c: The membership [K].
            batch: The mini-batch.

        Returns:
            A 0-d tensor.
        """
        outputs = mixed_outputs if self.mixing == "means" else mixed_logits
        mixed = outputs if self.structure == 1 else mixed_parameters
        return mixed(model, parts, c, batch.x, batch.y, model.train_outputs) @ batch.weight

    def parts(self, theta: Params) -> Params:
        """What gradients are taken at.

        Args:
            theta: θ.

        Returns:
            Structure 1: every canonical model's parameters by themselves.
        """
        return unstacked(theta, self.names) if self.structure == 1 else theta

    def theta_gradient(self, theta: Params, model: Model, c: Tensor, batch: Batch) -> Params:
        """∇_θ f_i(θ; c, ξ).

        Args:
            theta: θ.
            model: The client's architecture.
            c: The membership [K].
            batch: The mini-batch ξ.

        Returns:
            A tree like θ.
        """
        return stacked(gradient(self.loss)(self.parts(theta), model, c, batch), theta)

    def membership_gradient(self, c: Tensor, model: Model, theta: Params, batch: Batch) -> Tensor:
        """∇_c f_i(c; θ, ξ).

        Args:
            c: The membership [K].
            model: The client's architecture.
            theta: θ.
            batch: The mini-batch ξ.

        Returns:
            [K].
        """

        def at(own: Params, model: Model, theta: Params, batch: Batch) -> Tensor:
            return self.loss(self.parts(theta), model, own["c"], batch)

        return gradient(at)({"c": c}, model, theta, batch)["c"]

    def full_membership_gradient(self, c: Tensor, theta: Params, data: ClientContext) -> Tensor:
        """∇_c f_i(c; θ) over all training data.

        Args:
            c: The membership [K].
            theta: θ.
            data: The client's.

        Returns:
            [K].
        """

        def at(own: Tensor, batch: Batch) -> Tensor:
            return self.loss(self.parts(theta), data.model, own, batch)

        found: Tensor = full_gradient(at, c, data.whole("train"))
        return found

    def predict(self, model: Model, view: Tree, x: Tensor) -> Tensor:
        """What a client predicts.

        Args:
            model: Its architecture.
            view: "theta" and "membership".
            x: Samples [batch, …].

        Returns:
            As ``Method.predict`` has it.
        """
        return prediction(model, view, x, self.structure, self.names, self.mixing)
