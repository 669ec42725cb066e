"""A run that kills itself with SIGKILL at its K-th step towards the disk. Used in a process of its
own.

A step is anything that decides what a crash leaves: a file opened for writing, half of its content,
an fsync, a rename, a removal, a statement of the database. K = 0 only counts.
"""

import builtins
import contextlib
import os
import signal
import sqlite3
from pathlib import Path

from fedkin.experiment.resume import resume
from fedkin.experiment.run import experiment, run
from fedkin.runs.database import open_run
from fedkin.runs.spec import read


class Steps:
    """Counts, and kills at the wanted count."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.count = fatal, 0

    def take(self) -> None:
        self.count += 1
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, owner, name: str) -> None:
        """Let every call of owner.name be a step, taken before it happens."""
        original = getattr(owner, name)

        def stepped(*args, **options):
            self.take()
            return original(*args, **options)

        setattr(owner, name, stepped)

    def writing(self) -> None:
        """Files are written in halves, so that a crash can leave half a file."""
        original = builtins.open

        def opened(file, mode="r", *args, **options):
            found = original(file, mode, *args, **options)
            if "w" not in str(mode) or "b" not in str(mode):
                return found
            self.take()
            return Halves(found, self)

        builtins.open = opened

    def statements(self) -> None:
        original = sqlite3.connect

        def connected(*args, **options):
            connection = original(*args, **options)
            connection.set_trace_callback(lambda statement: self.take())
            return connection

        sqlite3.connect = connected


class Halves:
    """A binary file whose writes take a step between their halves."""

    def __init__(self, file, steps: Steps) -> None:
        self._file, self._steps = file, steps

    def write(self, content) -> int:
        half = len(content) // 2
        self._file.write(content[:half])
        self._file.flush()
        self._steps.take()
        return half + self._file.write(content[half:])

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


def main(fatal: int, spec: Path, folder: Path, again: bool) -> int:
    """The run, or its continuation; returns how many steps it took."""
    steps = Steps(fatal)
    steps.before(os, "fsync")
    steps.before(Path, "replace")
    steps.before(Path, "unlink")
    steps.before(Path, "mkdir")
    steps.statements()
    steps.writing()
    if again:
        resume(folder)
    else:
        run(experiment(read(spec)[0]), folder)
    return steps.count


def quiet(fatal: int, spec: Path, folder: Path, again: bool) -> None:
    """``main``, told nothing about: its end says it all."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        main(fatal, spec, folder, again)


def tell(spec: Path, folder: Path, counted: Path) -> None:
    """Write into a file how many steps an undisturbed run takes."""
    counted.write_text(str(main(0, spec, folder, False)))


def within_a_transaction(folder: Path) -> None:
    """Dies in the middle of a commit whose changes have reached the database file already."""
    with open_run(folder, write=True).commit() as transaction:
        transaction.execute(
            "PRAGMA cache_size = 1"
        )  # changes spill into the file before the commit
        transaction.execute("DELETE FROM metrics")
        transaction.execute("DELETE FROM states")
        for number in range(2000):
            transaction.execute("INSERT INTO events VALUES (9, 9, 'x', ?)", ("y" * number,))
        os.kill(os.getpid(), signal.SIGKILL)
