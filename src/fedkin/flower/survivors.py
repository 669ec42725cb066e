"""Whose messages a sum under masks is of, as it was once asked for: nodes take masks off for one
set of clients a round, whatever becomes of the server.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter

from fedkin.core.errors import FedkinError, reason, some
from fedkin.core.files import read_file, write_file
from fedkin.engine.op import COUNT_STAGES, LAST, OPENING, SCORE_STAGES, STAGES, WORK, Op
from fedkin.engine.store import StoreError

SURVIVORS = "survivors.json"  # in the run directory
LARGEST = 1 << 26  # bytes of it
# the stage and the round → clients
SETS_SCHEMA = TypeAdapter(
    dict[Annotated[str, StringConstraints(pattern=r"^[a-z_]+ [0-9]{1,9}$")], list[int]]
)
# What begins a sum → the stages in which nodes are told whose it is: where they sign that, those
# who signed are then asked to take the masks off
SURVIVOR_STAGES: dict[Op, tuple[Op, Op]] = {
    WORK: STAGES[-2:],
    "evaluate": COUNT_STAGES[-2:],
    LAST: COUNT_STAGES[-2:],
    OPENING: SCORE_STAGES[-2:],
}
NOT_A_SURVIVOR = (
    "the masks of this round were being taken off for others when the server was stopped"
)


class Survivors:
    """The sets that nodes were asked for since the last commit, by the stage and the round.

    Args:
        path: The file that keeps them; none yet in a new run.

    Raises:
        StoreError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sets: dict[str, list[int]] = {}
        if path.is_file():
            try:
                self._sets = SETS_SCHEMA.validate_json(read_file(path, LARGEST), strict=True)
            except OSError as error:
                raise StoreError(f"{path} cannot be read: {reason(error)}") from None
            except ValueError:
                raise StoreError(f"{path} is no list of survivors: put it back as it was") from None

    def left_out(self, op: Op, round: int, client: int) -> bool:
        """Whether a client cannot be in the sum that a piece of work is for any more.

        Args:
            op: The work.
            round: Its number.
            client: Its number.

        Returns:
            False where no masks were asked to be taken off yet.
        """
        known = (self._sets.get(_key(stage, round)) for stage in SURVIVOR_STAGES.get(op, ()))
        return any(clients is not None and client not in clients for clients in known)

    def agree(self, stage: Op, round: int, clients: Iterable[int]) -> None:
        """Note the set before nodes are asked for it; durably, for they will not forget it either.

        Args:
            stage: In which nodes are first told whose messages arrived; any other is not noted.
            round: Its number.
            clients: Whose messages arrived.

        Raises:
            FedkinError: Another set was noted: some of it are missing now.
            StoreError: It cannot be written.
        """
        stages = next((both for both in SURVIVOR_STAGES.values() if stage in both), None)
        if stages is None or (stage == stages[-1] and _key(stages[0], round) in self._sets):
            return
        key, now = _key(stage, round), sorted(clients)
        before = self._sets.get(key)
        if before is None:
            self._write({**self._sets, key: now})
        elif before != now:
            gone = sorted(set(before) - set(now))
            raise FedkinError(
                f"round {round}: the masks of clients {some(map(str, before), 20)} were being "
                f"taken off when the server was stopped, and of them "
                f"{some(map(str, gone), 20)} cannot be reached now: resume once they can"
            )

    def forget(self, round: int) -> None:
        """Leave out the rounds that are committed.

        Args:
            round: The last of them.
        """
        kept = {key: who for key, who in self._sets.items() if int(key.split()[1]) > round}
        if kept != self._sets:
            self._write(kept)

    def _write(self, sets: dict[str, list[int]]) -> None:
        try:
            write_file(self._path, json.dumps(sets).encode())
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}") from None
        self._sets = sets


def _key(stage: str, round: int) -> str:
    return f"{stage} {round}"
