"""What secure aggregation costs: bytes and seconds of one round, for clients and for the server.

    python -m benchmarks.masks                        10 and 100 clients
    python -m benchmarks.masks --clients 10,100,1000  a thousand takes minutes

All clients are of this process, one after the other: nothing is trained, nothing is sent. A share
of them drops out before its masked update, so that the server has to take their masks off.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from fedkin.engine.codec import encode
from fedkin.engine.masked_numbers import digits_for, size_of, vector_of
from fedkin.masks.client import MaskingClient
from fedkin.masks.server import MaskedSum
from fedkin.masks.terms import Terms, usual_threshold

SAMPLES = 100.0  # of each client: its weight
STAGES = ("advertise", "share", "mask", "reveal")


class Cost(NamedTuple):
    """clients: n. up, down, plain: bytes of one client. client, server: seconds."""

    clients: int
    threshold: int
    up: float
    down: float
    plain: int
    client: float
    server: float


class Watch:
    """Seconds of a processor core, and bytes, of one side."""

    def __init__(self) -> None:
        self.seconds, self.bytes = 0.0, 0

    def answer(self, work: Callable[[], bytes]) -> bytes:
        """What the work gives, counted."""
        began = time.process_time()
        blob = work()
        self.seconds += time.process_time() - began
        self.bytes += len(blob)
        return blob

    def take(self, work: Callable[[], object]) -> None:
        """Work that gives no message, counted."""
        began = time.process_time()
        work()
        self.seconds += time.process_time() - began


def measured(clients: int, parameters: int, gone: float) -> Cost:
    """One round.

    Args:
        clients: n.
        parameters: Numbers of an update, float32.
        gone: The share of clients that drops out before its masked update.
    """
    threshold, out = usual_threshold(clients), int(gone * clients)
    message = {"parameters": {"w": torch.linspace(-1, 1, parameters)}}
    digits = digits_for(SAMPLES)
    terms = Terms(1, threshold, digits * size_of(message))
    server = MaskedSum(terms, range(clients), digits)
    up, down = Watch(), Watch()  # what clients do; what the server does
    made: list[MaskingClient] = []
    for k in range(clients):
        up.take(lambda k=k: made.append(MaskingClient(k, 1, threshold)))  # type: ignore[misc]
        blob = up.answer(made[k].advertise)
        down.take(lambda k=k, blob=blob: server.advertised(k, blob))  # type: ignore[misc]
    roster = down.answer(server.roster)
    down.bytes += (clients - 1) * len(roster)
    for k in range(clients):
        blob = up.answer(lambda k=k: made[k].share(roster))  # type: ignore[misc]
        down.take(lambda k=k, blob=blob: server.shared(k, blob))  # type: ignore[misc]
    for k in range(clients):
        delivery = down.answer(lambda k=k: server.delivery(k))  # type: ignore[misc]
        if k < clients - out:
            blob = up.answer(
                lambda k=k, delivery=delivery: made[k].mask(  # type: ignore[misc]
                    delivery, lambda told: vector_of(message, SAMPLES, told)
                )
            )
            down.take(lambda k=k, blob=blob: server.masked(k, blob))  # type: ignore[misc]
    asking = down.answer(server.asking)
    down.bytes += (clients - out - 1) * len(asking)
    for k in server.survivors:
        blob = up.answer(lambda k=k: made[k].reveal(asking))  # type: ignore[misc]
        down.take(lambda k=k, blob=blob: server.revealed(k, blob))  # type: ignore[misc]
    down.take(server.total)
    each = float(clients)
    return Cost(
        clients,
        threshold,
        up.bytes / each,
        down.bytes / each,
        len(encode(message)),
        up.seconds / each,
        down.seconds,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--clients", default="10,100")
    parser.add_argument("--parameters", type=int, default=7850)
    parser.add_argument("--gone", type=float, default=0.1)
    given = parser.parse_args()
    print(
        "| clients | threshold | up, kB a client | without masks | down, kB a client "
        "| seconds a client | seconds at the server |"
    )
    print("|---|---|---|---|---|---|---|")
    for clients in map(int, given.clients.split(",")):
        found = measured(clients, given.parameters, given.gone)
        print(
            f"| {found.clients:,} | {found.threshold} | {found.up / 1e3:.0f} "
            f"| {found.plain / 1e3:.0f} | {found.down / 1e3:.1f} | {found.client:.3f} "
            f"| {found.server:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
