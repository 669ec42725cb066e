"""All randomness of a run is a function of (seed, purpose, round, client).

Intervals in reports, and errors of clients' measures, draw from streams of their own: they decide
nothing in a run.
"""

import hashlib
import math
import random
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedkin.core.errors import FedkinError

__all__ = ["Key", "Secret", "not_seeded", "python_draws", "seeded"]

if TYPE_CHECKING:
    from torch import Generator, Tensor


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
        """A NumPy generator for one purpose ("batches", "sampling", "kmeans", …).

        Args:
            purpose: What the numbers are for; another purpose is another stream.

        Returns:
            Fresh, at the beginning of its stream.
        """
        return np.random.Generator(np.random.Philox(np.random.SeedSequence(self._words(purpose))))

    def integer(self, purpose: str) -> int:
        """A 63-bit seed for libraries that take only a number.

        Args:
            purpose: What the seed is for.

        Returns:
            In 0..2⁶³ − 1.
        """
        return (
            int.from_bytes(hashlib.sha256(repr(self._words(purpose)).encode()).digest()[:8], "big")
            >> 1
        )

    def torch(self, purpose: str) -> "Generator":
        """A CPU torch generator for one purpose.

        Args:
            purpose: What the numbers are for.

        Returns:
            Fresh, at the beginning of its stream.
        """
        from torch import Generator  # late: lists of data sets need no torch

        return Generator().manual_seed(self.integer(purpose))

    def _words(self, purpose: str) -> list[int]:
        # an equal number of NumPy's has another text, of which ``integer`` is made
        return [int(self.seed), _label(purpose), int(self.round) + 1, int(self.client) + 1]


def python_draws() -> int:
    """Where Python's own generator and NumPy's global one stand, from which no step may draw.

    Returns:
        The same number until somebody draws from one of them.
    """
    state = np.random.get_state(legacy=False)["state"]
    parts = (part.tobytes() if isinstance(part, np.ndarray) else part for part in state.values())
    return hash((random.getstate(), *map(repr, parts)))


def not_seeded(who: str) -> FedkinError:
    """What is said of somebody who draws from one of these.

    Args:
        who: "model 'nets:Net'", say.

    Returns:
        To be raised.
    """
    return FedkinError(
        f"{who} draws from Python's random or numpy.random, and a recorded step would draw once "
        "for all batches: draw with torch"
    )


@cache
def _label(purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:4], "big")


BYTES = 32  # of a secret
WIDE = 2.0**-53  # uniform numbers have 53 bits


class Secret(NamedTuple):
    """Where noise comes from that protects clients: never the run's seed, which all may know.

    Its streams are AES-256 in counter mode. Each has a key of its own, the SHA-256 of the secret
    and of what the noise is for, so that a resumed round gets the same noise.

    key: 32 bytes. seeded: it was made from the run's seed, for tests: it protects nobody.
    """

    key: bytes
    seeded: bool = False

    def of(self, name: str) -> "Secret":
        """A secret derived from this one, for somebody who must not know it.

        Args:
            name: Of the one it is for, such as a client.

        Returns:
            What does not tell this secret.
        """
        return Secret(hashlib.sha256(self.key + f"fedkin:of:{name}".encode()).digest(), self.seeded)

    def uniform(
        self, purpose: str, round: int, size: int
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Numbers in (0, 1], float64 [size]: the same for the same purpose and round.

        Args:
            purpose: What the numbers are for.
            round: From 1.
            size: How many.

        Returns:
            53 random bits each.

        Raises:
            FedkinError: The extra ``privacy`` is not installed.
        """
        name = f"fedkin:{purpose}:{round}".encode()
        own = hashlib.sha256(self.key + len(name).to_bytes(4, "big") + name).digest()
        words = np.frombuffer(_keystream(own, 8 * size), dtype="<u8") >> np.uint64(11)
        numbers: np.ndarray[tuple[int], np.dtype[np.float64]] = (words + np.float64(1.0)) * WIDE
        return numbers

    def normal(self, purpose: str, round: int, size: int) -> "Tensor":
        """Standard normal numbers, float64 [size], by Box and Muller (1958).

        Args:
            purpose: What the numbers are for.
            round: From 1.
            size: How many.

        Returns:
            Mean 0, variance 1.
        """
        from torch import cat, from_numpy

        half = (size + 1) // 2
        drawn = from_numpy(self.uniform(purpose, round, 2 * half))
        radius = (-2.0 * drawn[:half].log()).sqrt()
        angle = 2.0 * math.pi * drawn[half:]
        return cat([radius * angle.cos(), radius * angle.sin()])[:size]


def _keystream(key: bytes, size: int) -> bytes:
    """The first bytes of AES-256 in counter mode, from 0 on: seven times as fast as SHAKE-256."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise FedkinError(
            "[privacy] needs the package cryptography, the extra privacy: in fedkin's checkout, "
            "pip install -c constraints.txt '.[privacy]'"
        ) from None
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    stream: bytes = encryptor.update(bytes(size))
    return stream


def seeded(seed: int) -> Secret:
    """A secret that everybody can compute: for tests only.

    Args:
        seed: The run's.

    Returns:
        A secret that protects nobody, and says so.
    """
    return Secret(hashlib.sha256(f"fedkin:no secret:{seed}".encode()).digest(), seeded=True)
