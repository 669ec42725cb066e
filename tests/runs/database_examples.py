"""What the tests of database and of its parts have in common."""

from fedkin.core.kinds import KINDS
from fedkin.runs import checkpoint
from fedkin.runs.record import Record, Sent
from fedkin.runs.recorder import Recorder

SCORES = {0: {"personal": {"val": (0.5, 0.75), "test": (float("nan"), float("nan"))}}}


def record(number: int, phase: str = "round", missing=None) -> Record:
    sent = [
        Sent(0, "down", 0, dict.fromkeys(KINDS, 1), 10),
        Sent(1, "down", 1, dict.fromkeys(KINDS, 1), 10),
    ]
    lens = {"cluster": {0: 2, -1: 0.5}}
    return Record(
        number,
        phase,
        [0, 1],
        sent,
        missing or {},
        SCORES,
        {0: {"teacher": [1, 2]}},
        lens,
        {"total": 0.1},
    )


def recorder(tmp_path, database, every=0.0):
    def save(folder, number):
        (folder / checkpoint.name(checkpoint.SERVER, number)).write_text(f"server {number}")
        (folder / checkpoint.name(0, number)).write_text(f"client {number}")
        return [checkpoint.SERVER, 0]

    return Recorder(tmp_path, database, save, every)
