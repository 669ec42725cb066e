"""Who takes part in a federation, and in each of its rounds."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from fedkin.core.counts import without_rounding_error
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, Method
from fedkin.core.rng import Key, Secret
from fedkin.engine.contexts import ServerTools
from fedkin.engine.round.panel import ALL
from fedkin.masks.signatures import Verify

__all__ = [
    "Federation",
    "participants",
    "participants_among",
    "participants_of",
]


class Federation(NamedTuple):
    """Who takes part, and how."""

    start: FederationInit
    infos: Mapping[int, ClientInfo]
    seed: int
    participation: float
    tools: ServerTools
    min_replies: int = 1
    names: tuple[str, ...] = ()  # what the operator calls the clients
    evaluate: str = ALL  # whom an evaluation asks (``fedkin.engine.round.panel``)
    evaluate_every: int = 1  # rounds; the last is evaluated whatever its number
    poisson: bool = False  # each client takes part by itself, by a chance that the secret draws
    secret: Secret | None = None  # of a run with noise
    threshold: int | None = None  # of secure aggregation; None: messages arrive as they are
    verify: Verify | None = None  # signatures of masks' keys; None: nobody signs (simulations)
    scoring: Callable[[int], int] | None = None  # round → threshold of scores that masks hide
    # clients with neither validation nor test samples, as a node may be: no loss of theirs is known
    unscored: frozenset[int] = frozenset()

    @property
    def masked(self) -> bool:
        """Whether nothing of a client reaches the server but within a sum: secure aggregation."""
        return self.threshold is not None

    def named(self, client: int) -> str:
        """A client as whoever runs the experiment knows it.

        Args:
            client: Its number.

        Returns:
            "client hospital A", for messages.
        """
        known = self.names[client] if client < len(self.names) else str(client)
        return f"client {known}"


def participants(method: Method, federation: Federation, number: int) -> list[int]:
    """m = ⌈C·M⌉ participants of a round, drawn without replacement; in order.

    Args:
        method: Whether clients are drawn by size, says its ``needs``.
        federation: Whom to draw from, the seed, and the share C.
        number: From 1; the same number gives the same clients.

    Returns:
        Ascending client numbers.
    """
    clients = sorted(federation.infos)
    if federation.poisson:
        return _poisson(clients, federation, number)
    m = participants_of(federation)
    if m >= len(clients):
        return clients
    rng = Key(federation.seed, number).numpy("participants")
    chances = None
    if method.needs.sampling == "size":
        sizes = [federation.infos[client].samples for client in clients]
        total = sum(sizes)  # once: of 40,000 clients, 40,000 sums took 25 s
        chances = [size / total for size in sizes]
    return sorted(int(client) for client in rng.choice(clients, m, replace=False, p=chances))


def _poisson(clients: list[int], federation: Federation, number: int) -> list[int]:
    """Each client with the chance C, whoever else takes part: what the accountant counts on."""
    if federation.secret is None:
        raise FedkinError("[privacy] needs a secret to draw participants from: the run has none")
    drawn = federation.secret.uniform("participants", number, len(clients))
    return [
        client for client, u in zip(clients, drawn, strict=True) if u <= federation.participation
    ]


def participants_of(federation: Federation) -> int:
    """m = ⌈C·M⌉, at least one.

    Args:
        federation: Of M clients, of which the share C takes part.

    Returns:
        m.
    """
    return participants_among(federation.participation, len(federation.infos))


def participants_among(share: float, clients: int) -> int:
    """m = ⌈C·M⌉, at least one.

    Args:
        share: C.
        clients: M.

    Returns:
        How many take part in a round.
    """
    return max(1, math.ceil(without_rounding_error(share * clients)))
