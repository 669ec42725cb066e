"""Whom an evaluation between rounds asks: everybody, a fixed panel, or a round's participants.

The panel is one draw for the whole run, from (seed, "panel"): its rounds can be compared with each
other, and a resumed run asks the same clients.
"""

from collections.abc import Iterable

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key

ALL, PARTICIPANTS, PANEL = "all", "participants", "panel:"


def panel_size(evaluate: str) -> int | None:
    """N of "panel:N"; None of the other choices.

    Args:
        evaluate: run.evaluate.

    Returns:
        Clients of the panel.
    """
    return int(evaluate.removeprefix(PANEL)) if evaluate.startswith(PANEL) else None


def panel(evaluate: str, clients: Iterable[int], seed: int) -> list[int]:
    """Who is evaluated in rounds before the last: N clients drawn without replacement, in order;
    everybody where no panel was asked for.

    Args:
        evaluate: run.evaluate.
        clients: The numbers of all.
        seed: The run's: the panel is the same in every round.

    Returns:
        Ascending client numbers.
    """
    everyone, size = sorted(clients), panel_size(evaluate)
    if size is None:
        return everyone
    drawn = Key(seed).numpy("panel").choice(everyone, size, replace=False)
    return sorted(int(client) for client in drawn)


def check_panel(evaluate: str, clients: int) -> None:
    """Raise FedkinError for a panel of more clients than there are.

    Args:
        evaluate: run.evaluate.
        clients: How many there are.

    Raises:
        FedkinError: The panel is larger; names the largest possible one.
    """
    size = panel_size(evaluate)
    if size is not None and size > clients:
        raise FedkinError(
            f"run.evaluate is {evaluate!r}, and there are {clients} clients: "
            f"set it to {PANEL}{clients}, or to {ALL}"
        )
