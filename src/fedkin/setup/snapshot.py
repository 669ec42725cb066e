"""A run at one commit: its round, facts and states are of the same moment, though it may go on."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.tree import Tree
from fedkin.engine.store import Copies
from fedkin.runs import checkpoint
from fedkin.runs.database import read_only

TRIES = 10  # for a run that commits while its states are copied


class Snapshot(NamedTuple):
    """``round``: the last one of the commit, -1 before the first. ``trained``: the last one that
    trained. ``states``: by client, SERVER among them.
    """

    round: int
    trained: int
    facts: dict[str, Any]
    states: Copies

    @property
    def server(self) -> Tree | None:
        """The server's state, None before the first commit. Raises StoreError."""
        return self.states.get(checkpoint.SERVER)

    @property
    def finished(self) -> bool:
        """Whether this was the run's last commit."""
        return self.facts.get("finished") is True


def snapshot(run: Path, aside: Path, of: Collection[int] | None = None) -> Snapshot:
    """The last commit of a run, its states copied into the folder ``aside``; those of a finished
    run stay, and are read where they are.

    A run that goes on removes files of an earlier commit while they are copied: then the later one
    is taken. A file that is gone though the run stands still is reported by StoreError, when it is
    asked for.

    Args:
        run: The run directory.
        aside: Where copies go; it is made.
        of: Whose states will be asked for, SERVER's among them; None: everybody's.

    Returns:
        The round, the facts and the states of one commit.

    Raises:
        FedkinError: It is no run, or a damaged one.
    """
    latest: Snapshot | None = None
    for _ in range(TRIES):
        with read_only(run) as database, database.reading():
            last, trained = database.last_round(), database.last_trained()
            facts, states = database.facts(), checkpoint.named(run, database)
        if latest is not None and latest.round == last:
            break
        stays = facts.get("finished") is True
        latest = Snapshot(last, trained, facts, Copies(aside, states, () if stays else of))
        if not latest.states.lost:
            break
    assert latest is not None
    return latest
