"""A client's data as its work may see them where every sample is protected."""

from typing import Literal

from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Aligned, Uncovered
from fedkin.core.rng import Key, Secret
from fedkin.core.tree import Params, Tree


class _Info(ClientInfo):
    """What a client may know of itself: not its labels. How many samples it has is public."""

    @property
    def histogram(self) -> Tensor:
        raise Uncovered("its clients use the histogram of their labels, which no noise covers")


class ProtectedData:
    """A ``ClientContext`` whose training samples reach a method through noised gradients alone.

    ``noise``: of the client's work in this round. Validation samples are not protected.
    """

    def __init__(self, data: ClientContext, noise: SampleNoise) -> None:
        self._data, self._noise, self._drawn = data, noise, 0

    @property
    def info(self) -> ClientInfo:
        return _Info(*self._data.info)

    @property
    def model(self) -> Model:
        return self._data.model

    @property
    def key(self) -> Key:
        return self._data.key

    @property
    def public(self) -> Tensor | None:
        return self._data.public

    @property
    def public_y(self) -> Tensor | None:
        return self._data.public_y

    @property
    def decay(self) -> float:
        return self._data.decay

    @property
    def secret(self) -> Secret | None:
        return self._data.secret

    def batches(
        self,
        draw: Literal["permuted", "uniform", "poisson"] = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        """Every sample takes part by itself, drawn anew in every call: what the accountant counts
        on.
        """
        self._drawn += 1
        own = f"samples {self._drawn}"
        found = self._data.batches("poisson", own, steps=steps, epochs=epochs, beside=beside)
        noised = found._replace(protected=self._noise)
        if beside is None:
            return noised

        def gather(first: int, last: int) -> Tree:
            batch, rows = found.gather(first, last)
            return batch, Aligned(rows)

        return noised._replace(gather=gather)

    def rows(self, tensors: tuple[Tensor, ...], size: int, steps: int, purpose: str) -> Batches:
        return self._data.rows(tensors, size, steps, purpose)

    def whole(self, split: str) -> list[Batch]:
        _not_of_training("passes over all training samples", split)
        return self._data.whole(split)

    def score(self, w: Params, split: str) -> tuple[float, float]:
        _not_of_training("scores models on training samples", split)
        return self._data.score(w, split)


def _not_of_training(what: str, split: str) -> None:
    if split == "train":
        raise Uncovered(f"its client's work {what}, which no noise covers")
