"""What modules and methods draw from by themselves (dropout): torch's generator, a GPU's own,
Python's and NumPy's.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from numpy.random.mtrand import get_bit_generator, set_bit_generator


class Draws(Protocol):
    """A source of random numbers that a process has one of, as torch's generators are."""

    def get_state(self) -> Any:
        """Where it stands.

        Returns:
            What ``set_state`` takes.
        """

    def set_state(self, state: Any, /) -> Any:
        """Let it stand there.

        Args:
            state: What ``get_state`` found.

        Returns:
            Whatever the generator gives.
        """

    def manual_seed(self, seed: int, /) -> Any:
        """Begin at a seed.

        Args:
            seed: In 0..2⁶³ − 1.

        Returns:
            Whatever the generator gives.
        """


SPARE: list[np.random.MT19937] = []  # to make one takes as long as a small step


class PythonDraws:
    """Python's ``random`` and NumPy's global generator, as one.

    NumPy's is exchanged for a spare one, not copied, which takes less time. With it NumPy forgets
    the second of two normal numbers that it makes together: that is kept here.
    """

    _own: np.random.MT19937 | None = None

    def get_state(self) -> Any:
        """Where both stand.

        Returns:
            What ``set_state`` takes.
        """
        state = np.random.get_state(legacy=False)
        second = {name: state[name] for name in ("has_gauss", "gauss")}
        return random.getstate(), get_bit_generator(), second

    def set_state(self, state: Any, /) -> None:
        """Let both stand there.

        Args:
            state: What ``get_state`` found.
        """
        python, numpy, second = state
        random.setstate(python)
        set_bit_generator(numpy)
        if second["has_gauss"]:
            np.random.set_state({**np.random.get_state(legacy=False), **second})

    def manual_seed(self, seed: int, /) -> None:
        """Begin at a seed.

        Args:
            seed: In 0..2⁶³ − 1; NumPy takes 32 bits of it.
        """
        random.seed(seed)
        self._own = self._own or (SPARE.pop() if SPARE else np.random.MT19937(0))
        set_bit_generator(self._own)
        np.random.seed(seed % 2**32)

    def give_back(self) -> None:
        """Nobody draws from the exchanged one any more."""
        if self._own is not None:
            SPARE.append(self._own)
            self._own = None


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


def everyones(device: torch.device) -> list[Draws]:
    """The same, and what a method's own code may draw from: a step may not, since a recorded one
    would draw once.

    Args:
        device: Where steps run.

    Returns:
        Each is seeded for a client's work, and restored after it.
    """
    return [*generators(device), PythonDraws()]


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
def kept(drawn_from: Sequence[Draws]) -> Iterator[None]:
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


def states(drawn_from: Sequence[Draws]) -> list[Any]:
    """Where each generator stands.

    Args:
        drawn_from: Generators.

    Returns:
        A state each, for ``restore``.
    """
    return [generator.get_state() for generator in drawn_from]


def restore(drawn_from: Sequence[Draws], before: Sequence[Any]) -> None:
    """Let each generator stand where ``states`` found it.

    Args:
        drawn_from: Generators, in the same order.
        before: What ``states`` found.
    """
    for generator, state in zip(drawn_from, before, strict=True):
        generator.set_state(state)


@contextmanager
def drawing_from(seed: int, device: torch.device) -> Iterator[None]:
    """What a module or a method draws for itself (dropout, ``random``, ``numpy.random``) comes from
    ``seed``; the caller's generators are left as they were.

    Args:
        seed: Of this client and round.
        device: Where its steps run.

    Yields:
        Nothing: what is inside the ``with`` draws.
    """
    pythons = PythonDraws()
    drawn_from: list[Draws] = [*generators(device), pythons]
    try:
        with kept(drawn_from):
            for generator in drawn_from:
                generator.manual_seed(seed)
            yield
    finally:
        pythons.give_back()
