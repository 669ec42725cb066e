"""Keys: X25519 pairs made for one round, what two clients agree on, and how a share is hidden."""

import hashlib
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.masks.wire import Refused

KEY = 32  # bytes of a key, of a seed and of a commitment
TAG = 16  # bytes that encryption adds
NONCE = bytes(12)  # each key encrypts once: it is made for one sender, receiver and round


class KeyPair(NamedTuple):
    """private: 32 bytes that stay. public: 32 bytes for everybody."""

    private: bytes
    public: bytes


def pair_of(private: bytes) -> KeyPair:
    """The key pair of 32 random bytes."""
    x25519 = _cryptography().x25519
    key = x25519.X25519PrivateKey.from_private_bytes(private)
    return KeyPair(private, key.public_key().public_bytes_raw())


def agreed(private: bytes, public: bytes, purpose: str) -> bytes:
    """32 bytes that only the two owners know, another for each purpose (HKDF-SHA256).

    Args:
        private: One's own key.
        public: The other's.
        purpose: What it is for: round, sender and receiver, or the pair.

    Raises:
        Refused: The other's key is none (a point of small order).
    """
    tools = _cryptography()
    try:
        other = tools.x25519.X25519PublicKey.from_public_bytes(public)
        mine = tools.x25519.X25519PrivateKey.from_private_bytes(private)
        shared = mine.exchange(other)
    except ValueError:
        raise Refused("a public key is no point that keys can be agreed on with") from None
    info = f"fedkin masks 1: {purpose}".encode()
    key: bytes = tools.HKDF(
        algorithm=tools.hashes.SHA256(), length=KEY, salt=None, info=info
    ).derive(shared)
    return key


def check_public(public: bytes) -> None:
    """Raise Refused for a public key that would give every partner the same secret."""
    agreed(bytes(range(KEY)), public, "check")


def encrypt(key: bytes, content: bytes, about: bytes) -> bytes:
    """Content that only who has the key can read; ``about`` is bound to it (ChaCha20-Poly1305)."""
    found: bytes = _cryptography().ChaCha20Poly1305(key).encrypt(NONCE, content, about)
    return found


def decrypt(key: bytes, content: bytes, about: bytes) -> bytes | None:
    """What was hidden; None where it was changed, or made for another place."""
    tools = _cryptography()
    try:
        found: bytes = tools.ChaCha20Poly1305(key).decrypt(NONCE, content, about)
    except tools.InvalidTag:
        return None
    return found


def commitment(seed: bytes) -> bytes:
    """32 bytes that tell nothing of a random seed, and fit no other one."""
    return hashlib.sha256(b"fedkin masks 1: seed" + seed).digest()


def stream(key: bytes, size: int) -> bytes:
    """The ChaCha20 key stream of a key that is used once."""
    tools = _cryptography()
    cipher = tools.Cipher(tools.algorithms.ChaCha20(key, bytes(16)), mode=None)
    found: bytes = cipher.encryptor().update(bytes(size))
    return found


class _Tools(NamedTuple):
    x25519: Any
    hashes: Any
    HKDF: Any
    ChaCha20Poly1305: Any
    InvalidTag: Any
    Cipher: Any
    algorithms: Any


_found: list[_Tools] = []


def need_cryptography() -> None:
    """Raises FedkinError where the library of secure aggregation is not installed."""
    _cryptography()


def _cryptography() -> _Tools:
    """The library, imported when it is used. Raises FedkinError where it is not installed."""
    if _found:
        return _found[0]
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise FedkinError(
            "secure aggregation needs the extra privacy: in fedkin's checkout, "
            "pip install -c constraints.txt '.[privacy]'"
        ) from None
    _found.append(_Tools(x25519, hashes, HKDF, ChaCha20Poly1305, InvalidTag, Cipher, algorithms))
    return _found[0]
