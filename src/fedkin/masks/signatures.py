"""Signed public keys: a server passes keys on, and cannot put its own in their place."""

from collections.abc import Callable
from typing import NamedTuple

SIGNATURE = 96  # bytes: r and s of ECDSA on P-384

Verify = Callable[[int, bytes, bytes], bool]
"""(client, what was signed, signature) → whether that client's own key has signed it."""


class Identity(NamedTuple):
    """What a client signs its keys with, and how it knows the others' signatures."""

    sign: Callable[[bytes], bytes]
    verify: Verify


def said(round: int, client: int, public: bytes) -> bytes:
    """What a client signs: that these public keys are its own in this round."""
    return f"fedkin masks 1: keys of client {client} in round {round}:".encode() + public
