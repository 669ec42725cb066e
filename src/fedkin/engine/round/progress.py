"""What has happened in a round so far."""

import time
from dataclasses import dataclass, field

from fedkin.runs.record import Sent


@dataclass
class RoundProgress:
    """What the record of a round will say, but for what its evaluation found.

    Args:
        number: Of the round.
        phase: "setup", "round" or "finish".
        participants: Who is asked, by client number.
        sent: Every message, in order.
        missing: {client: why it was left out}.
        seconds: Of each part that is over.
        began: When the round began, by ``time.perf_counter``.
    """

    number: int
    phase: str
    participants: list[int]
    sent: list[Sent] = field(default_factory=list)
    missing: dict[int, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def end(self, part: str) -> None:
        """A part is over, which began where the one before it ended.

        Args:
            part: "local", "server" or "evaluation".
        """
        self.seconds[part] = time.perf_counter() - self.began - sum(self.seconds.values())
