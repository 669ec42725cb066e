"""Agreement: a client reveals nothing before enough others have signed the survivors that it was
told, so that no server has the sum of fewer clients by telling each client another list.

Source: figure 4, round 3 ("ConsistencyCheck") of the paper that ``fedkin.masks`` follows. What is
signed names the round's keys as well: a signature of a round that is done again is of other keys.
"""

from typing import NamedTuple

from fedkin.masks.signatures import SIGNATURE, Verify
from fedkin.masks.wire import CLIENT, Refused, Stage, by_client, opened

SIGNED = CLIENT.size + SIGNATURE  # bytes of an entry: who signed, and its signature


class Agreement(NamedTuple):
    """What the signatures of a round are held against.

    round: counts from 1. threshold: t. roster: stands for the message of everybody's keys.
    survivors: whose masked vectors arrived, as one client was told, or as the server has them.
    """

    round: int
    threshold: int
    roster: bytes
    survivors: frozenset[int]

    def said_by(self, client: int) -> bytes:
        """What a client signs who was told the same: its run is the signature's own part."""
        told = f"fedkin masks 1: survivors that client {client} was told in round {self.round}:"
        listed = b"".join(CLIENT.pack(one) for one in sorted(self.survivors))
        return told.encode() + self.roster + listed

    def check(self, message: bytes, verify: Verify) -> None:
        """All that a client asks of the others' signatures before it reveals anything.

        Args:
            message: Who signed, with the signatures: of stage ``SIGNED``.
            verify: Knows clients' signatures.

        Raises:
            Refused: They are too few, or one of them is of something else, or of somebody else.
        """
        most = len(self.survivors)
        found = opened(Stage.SIGNED, self.round, message, SIGNED, most)
        signed = by_client(found.entries, "signed")
        if len(signed) < self.threshold:
            raise Refused(
                f"signed: {len(signed)} clients signed who survived, and the threshold is "
                f"{self.threshold}"
            )
        for client, signature in signed.items():
            if client not in self.survivors:
                raise Refused(f"signed: client {client} is not among the survivors")
            if not verify(client, self.said_by(client), signature):
                raise Refused(
                    f"signed: client {client} did not sign the survivors that this client was told "
                    "in this round of this run: the server told it others, or passed on another "
                    "signature"
                )
