"""Where keys, seeds and polynomials come from: the system, never the seed of a run."""

import hashlib
import os
from collections.abc import Callable

from fedkin.core.rng import Secret

Randomness = Callable[[str, int], bytes]
"""(what for, how many) → random bytes."""


def of_the_system(purpose: str, size: int) -> bytes:
    """Bytes that nobody can compute again: what every real round takes."""
    return os.urandom(size)


def not_private(secret: Secret, round: int, client: int) -> Randomness:
    """Bytes that everybody can compute who knows the seed: for tests. It hides nothing.

    Args:
        secret: Made by ``fedkin.core.rng.seeded``; one that is meant to protect is refused.
        round: Whose keys they make.
        client: Of whom.
    """
    if not secret.seeded:
        raise ValueError("keys of a round that protects come from the system")

    def drawn(purpose: str, size: int) -> bytes:
        name = f"fedkin masks: {purpose}:{round}:{client}".encode()
        return hashlib.shake_256(secret.key + name).digest(size)

    return drawn
