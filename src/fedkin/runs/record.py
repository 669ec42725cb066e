"""What happened in one round: what the coordinator hands to the recorder."""

from typing import Any, NamedTuple

FEDERATION = -1  # the client number of what is said of the whole federation
NOT_SCORED = "not scored: "  # begins the reason of a client that trained, and has no score
EPSILON = "epsilon"  # the name in ``server_metrics`` of what privacy has cost so far
# Names under which the server's side alone says something of a client: what privacy costs it,
# whether it attacks, how much of its message was used
OF_THE_SERVER = (EPSILON, "attacker", "kept", "norm_kept")
CLUSTER = "cluster"  # of what a client says: a whole number


class Sent(NamedTuple):
    """One message in the ledger.

    ``copy`` is 0 for the first copy of a broadcast, 1 for the others.
    """

    client: int
    direction: str  # "down" or "up"
    copy: int
    scalars: dict[str, int]  # by kind
    bytes: int


class Moved(NamedTuple):
    """What of a round's replies reached the coordinator: where messages are summed at hosts, their
    partial sums, and not what the ledger counts.
    """

    messages: int = 0
    bytes: int = 0

    def with_one(self, size: int) -> "Moved":
        """One more, unless it is empty.

        Args:
            size: Its bytes; 0 for an empty one.

        Returns:
            The new sums.
        """
        return Moved(self.messages + 1, self.bytes + size) if size else self


class Record(NamedTuple):
    """What happened in one round (or in the setup before, or the finish after)."""

    round: int
    phase: str  # "setup", "round" or "finish"
    participants: list[int]
    sent: list[Sent]
    missing: dict[int, str]  # client → why it was left out
    # client → view → split → (loss, accuracy); under masks the federation alone
    scores: dict[int, dict[str, dict[str, tuple[float, float]]]]
    notes: dict[int, dict[str, Any]]  # client → what its method tells
    server_metrics: dict[str, dict[int, Any]]  # name → client → what the server's side tells
    seconds: dict[str, float]  # local, server, evaluation, total
    measures: dict[int, dict[str, dict[str, dict[str, float]]]] = {}  # noqa: RUF012 (read only)
    """client → view → split → {"rmse": …}: of an evaluated round the experiment's own measure,
    where it is neither accuracy nor loss; of the finish all of them.
    """
    moved: Moved = Moved()
    counted: dict[str, dict[str, tuple[int, int]]] = {}  # noqa: RUF012 (read only)
    """Under masks, view → score or measure → on test the clients in its mean, and the others that
    have test samples.
    """
