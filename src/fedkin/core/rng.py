"""All randomness is a function of (seed, purpose, round, client): nothing else may draw."""

import hashlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from torch import Generator


class Key(NamedTuple):
    """Names one independent random stream.

    Two keys that differ anywhere give independent streams; the same key gives the same stream on
    every machine, in every process, whatever was drawn before. ``round`` and ``client`` are -1
    where a stream belongs to neither.
    """

    seed: int
    round: int = -1
    client: int = -1

    def numpy(self, purpose: str) -> np.random.Generator:
        """A NumPy generator for one purpose ("batches", "sampling", "kmeans", …)."""
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self._words(purpose))))

    def integer(self, purpose: str) -> int:
        """A 63-bit seed for libraries that take only a number."""
        return (
            int.from_bytes(hashlib.sha256(repr(self._words(purpose)).encode()).digest()[:8], "big")
            >> 1
        )

    def torch(self, purpose: str) -> "Generator":
        """A CPU torch generator for one purpose."""
        from torch import Generator  # late: lists of data sets need no torch

        return Generator().manual_seed(self.integer(purpose))

    def _words(self, purpose: str) -> list[int]:
        return [self.seed, _label(purpose), self.round + 1, self.client + 1]


@cache
def _label(purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:4], "big")
