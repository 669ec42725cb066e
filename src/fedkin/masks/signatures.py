"""Signed public keys: a server passes keys on, and cannot put its own in their place.

The same identities sign who survived (``fedkin.masks.agreement``).

Beside its keys a client signs what it was sent: from a sum with others who began from another model
a server could tell its update (Pasquini, Francati & Ateniese: Eluding secure aggregation in
federated learning via model inconsistency, 2022).
"""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

SIGNATURE = 96  # bytes: r and s of ECDSA on P-384

Verify = Callable[[int, bytes, bytes], bool]
"""(client, what was signed, signature) → whether that client's own key has signed it."""


class Identity(NamedTuple):
    """What a client signs with, and how it knows the others' signatures."""

    sign: Callable[[bytes], bytes]
    verify: Verify


def broadcast_digest(message: bytes | None) -> bytes:
    """32 bytes that stand for what a client was sent: sha256."""
    return hashlib.sha256(message or b"").digest()


def signed_statement(round: int, client: int, public: bytes, heard: bytes = b"") -> bytes:
    """What a client signs: that these public keys are its own in this round, for an answer to what
    ``heard`` stands for.
    """
    return f"fedkin masks 1: keys of client {client} in round {round}:".encode() + public + heard
