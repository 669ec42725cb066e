"""What modules draw from by themselves (dropout): torch's generator, and a GPU's own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


def generators(device: torch.device) -> list[torch.Generator]:
    """Those that a module on ``device`` may draw from.

    ``torch.manual_seed`` would also queue a call for GPUs that are not there, stack trace and all,
    at every use.

    Args:
        device: Where steps run.

    Returns:
        Main memory's, and the GPU's if it is one.
    """
    if device.type != "cuda":
        return [torch.default_generator]
    torch.cuda.init()  # type: ignore[no-untyped-call]
    place = torch.cuda.current_device() if device.index is None else device.index
    return [torch.default_generator, torch.cuda.default_generators[place]]


@contextmanager
def forked(device: torch.device) -> Iterator[None]:
    """What is drawn inside leaves the generators of ``device`` as they were.

    Args:
        device: Where steps run.

    Yields:
        Nothing.
    """
    with kept(generators(device)):
        yield


@contextmanager
def kept(drawn_from: Sequence[torch.Generator]) -> Iterator[None]:
    """The generators are afterwards what they were before.

    Args:
        drawn_from: Any.

    Yields:
        Nothing.
    """
    before = states(drawn_from)
    try:
        yield
    finally:
        restore(drawn_from, before)


def states(drawn_from: Sequence[torch.Generator]) -> list[Tensor]:
    """Where each generator stands."""
    return [generator.get_state() for generator in drawn_from]


def restore(drawn_from: Sequence[torch.Generator], before: Sequence[Tensor]) -> None:
    """Let each generator stand where ``states`` found it."""
    for generator, state in zip(drawn_from, before, strict=True):
        generator.set_state(state)


@contextmanager
def drawing_from(seed: int, device: torch.device) -> Iterator[None]:
    """What a module draws for itself (dropout) comes from ``seed``; the caller's generators are
    left as they were.

    Args:
        seed: Of this client and round.
        device: Where its steps run.

    Yields:
        Nothing: what is inside the ``with`` draws.
    """
    drawn_from = generators(device)
    with kept(drawn_from):
        for generator in drawn_from:
            generator.manual_seed(seed)
        yield
