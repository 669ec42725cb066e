"""The form of the protocol's messages: one header, then entries of one size. Nothing else is read.

A message is of one stage and one round. Who sent it is for the transport to say.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from fedkin.core.errors import FedkinError

MAGIC = b"fkm1"
HEADER = struct.Struct("<4sBIII")  # magic, stage, round, number, entries
MOST_CLIENTS = 10_000  # in one round: each pair of them has a mask
MOST_NUMBERS = 1 << 28  # in one vector
CLIENT = struct.Struct("<I")
# Shares are taken at 1 + a client's number, modulo 2^31 − 1: a number beyond would stand for
# another client's point, or for 0, where the secret itself is
HIGHEST_CLIENT = 2**31 - 3


class Stage(IntEnum):
    """What a message is for, in the order of a round."""

    ADVERTISE = 1  # up: a client's two public keys, and a commitment to its own seed
    ROSTER = 2  # down: everybody's public keys; its number is the threshold
    SHARES = 3  # up: for each other client an encrypted pair of shares
    DELIVERY = 4  # down: the pairs that others have made for this client
    MASKED = 5  # up: the masked vector
    SURVIVORS = 6  # down: whose masked vectors arrived
    AGREE = 7  # up: its signature of that list; like SIGNED only where clients have identities
    SIGNED = 8  # down: the signatures of that list
    REVEAL = 9  # up: a share of each client's seed, or of its key


class Refused(FedkinError):
    """What arrived is not what this stage of this round asks for: it is not used."""


class NoSum(FedkinError):
    """What clients sent has no sum: one of them lies, and nobody can tell which. The round is of no
    use.
    """


class Opened(NamedTuple):
    """A message that is well formed: its number, and its entries."""

    number: int
    entries: list[bytes]


def sealed(stage: Stage, round: int, entries: Sequence[bytes], number: int = 0) -> bytes:
    """A message as bytes."""
    return HEADER.pack(MAGIC, stage, round, number, len(entries)) + b"".join(entries)


def opened(stage: Stage, round: int, blob: bytes, size: int, most: int) -> Opened:
    """A message of somebody else's making.

    Args:
        stage: Which one is asked for.
        round: Whose round it must be of.
        blob: What arrived.
        size: Bytes of one entry.
        most: Entries that it may have.

    Raises:
        Refused: It is of another stage or round, or not of this form.
    """
    body = checked(stage, round, blob, size, most)
    number = HEADER.unpack_from(blob)[3]
    return Opened(number, [body[at : at + size] for at in range(0, len(body), size)])


def checked(stage: Stage, round: int, blob: bytes, size: int, most: int) -> bytes:
    """The body of a message that is well formed: see ``opened``."""
    name = stage.name.lower()
    if len(blob) < HEADER.size or blob[: len(MAGIC)] != MAGIC:
        raise Refused(f"{name}: no message of secure aggregation")
    _, kind, of, _, count = HEADER.unpack_from(blob)
    if kind != stage:
        raise Refused(f"{name}: a message of another stage arrived ({kind}, not {int(stage)})")
    if of != round:
        raise Refused(f"{name}: a message of round {of} arrived in round {round}")
    if count > most or len(blob) != HEADER.size + count * size:
        raise Refused(f"{name}: {len(blob)} bytes with {count} entries, at most {most} of {size}")
    return blob[HEADER.size :]


def by_client(entries: Sequence[bytes], name: str) -> dict[int, bytes]:
    """{client: the rest of its entry}. Raises Refused where a client stands there twice, or has a
    number that no client has.
    """
    found = {CLIENT.unpack_from(entry)[0]: entry[CLIENT.size :] for entry in entries}
    if len(found) < len(entries):
        raise Refused(f"{name}: a client stands there twice")
    if max(found, default=0) > HIGHEST_CLIENT:
        raise Refused(f"{name}: client {max(found)}, and the highest number is {HIGHEST_CLIENT:,}")
    return found


def of_client(client: int, content: bytes = b"") -> bytes:
    """An entry that is about a client."""
    return CLIENT.pack(client) + content
