"""A client's data as its work may see them where every sample is protected."""

from typing import Any, NoReturn

import torch
from torch import Tensor

from fedkin.core.method import ClientContext, ClientInfo, Method
from fedkin.core.model import Batch
from fedkin.core.ops import Batches, BatchSampling
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Aligned, Uncovered
from fedkin.core.tree import Params, Tree
from fedkin.transforms.seen_data import Draw, SeenData


class _Info(ClientInfo):
    """What a client may know of itself: not its labels. How many samples it has is public."""

    @property
    def histogram(self) -> Tensor:
        raise Uncovered("its clients use the histogram of their labels, which no noise covers")


def without_labels(info: ClientInfo) -> ClientInfo:
    """What a client may know of itself where every sample is protected.

    Args:
        info: What it knows.

    Returns:
        The same, but for the histogram: who asks for it by its name is refused, and who takes the
        tuple apart finds zeros.
    """
    return _Info(*info._replace(histogram=torch.zeros_like(info.histogram)))


def first_state(method: Method, initial: Params, info: ClientInfo) -> Tree:
    """A client's state before any round, made of what no sample is in: its messages may hold it.

    Args:
        method: Whose ``client`` makes it.
        initial: The initial parameters of its architecture.
        info: What the client knows of itself.

    Returns:
        The personal state.

    Raises:
        Uncovered: The method makes it of the client's labels.
    """
    return method.client(initial, without_labels(info))


def without_samples(data: ClientContext) -> ClientContext:
    """Data for work that no noise covers: what depends on a sample, of whatever split, is refused.

    Args:
        data: The client's own.

    Returns:
        Its model, its random streams and the public set.
    """

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise Uncovered("its clients look at their samples, which no noise covers")

    return SeenData(
        data,
        info=without_labels(data.info),
        batches=refused,
        whole=refused,
        score=refused,
        rank=refused,
        rank_error=refused,
    )


def protected(data: ClientContext, noise: SampleNoise) -> ClientContext:
    """Data whose training samples reach a method through noised gradients alone.

    Args:
        data: The client's own. Validation samples are not protected.
        noise: Of the client's work in this round.
    """

    def whole(split: str) -> list[Batch]:
        _not_of_training("passes over all training samples", split)
        return data.whole(split)

    def score(w: Params, split: str) -> tuple[float, float]:
        _not_of_training("scores models on training samples", split)
        return data.score(w, split)

    def rank(w: Params, split: str) -> tuple[float, float]:
        _not_of_training("ranks models on training samples", split)
        return data.rank(w, split)

    def rank_error(w: Params, split: str, rank: tuple[float, float]) -> float:
        _not_of_training("ranks models on training samples", split)
        return data.rank_error(w, split, rank)

    return SeenData(
        data,
        info=without_labels(data.info),
        batches=_noised_draws(data, noise),
        whole=whole,
        score=score,
        rank=rank,
        rank_error=rank_error,
    )


def _noised_draws(data: ClientContext, noise: SampleNoise) -> Draw:
    """Mini-batches of which every sample takes part by itself, drawn anew in every call: what the
    accountant counts on.
    """
    drawn = 0

    def batches(
        draw: BatchSampling = "permuted",
        purpose: str = "batches",
        *,
        steps: int | None = None,
        epochs: int | None = None,
        beside: Tensor | None = None,
    ) -> Batches:
        nonlocal drawn
        drawn += 1
        own = f"samples {drawn}"
        found = data.batches("poisson", own, steps=steps, epochs=epochs, beside=beside)
        noised = found._replace(protected=noise, draws=(drawn,))
        if beside is None:
            return noised

        def gather(first: int, last: int) -> Tree:
            batch, rows = found.gather(first, last)
            return batch, Aligned(rows)

        return noised._replace(gather=gather)

    return batches


def _not_of_training(what: str, split: str) -> None:
    if split == "train":
        raise Uncovered(f"its client's work {what}, which no noise covers")
