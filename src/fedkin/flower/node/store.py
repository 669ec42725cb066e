"""A client's personal states on its node, one file a round and a message that came for it, each
with the message that left with it.

A file holds what one piece of work changed: the state after it, and the reply. It appears whole or
not at all, so that work that was done is never done twice, and a reply that got lost can be sent
again. Of a run that is over there is one more, with what the client deploys.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.files import write_file, write_secret
from fedkin.engine.store import StoreError
from fedkin.flower.node.reasons import logged

SUFFIX = ".commit"
NAMED = 32  # digits of a key in the name of a round's second commit
SALT = "salt"
SALTED = 32  # bytes of it
MODEL = "model"  # in place of a round: what the client deploys when the last one is over


class Commit(NamedTuple):
    """``key``: what was asked for (of the model: in which experiment). ``state``: the personal
    state afterwards, or the model; ``message``: what was answered (bytes).
    """

    key: str
    state: bytes
    message: bytes | None
    details: dict[str, Any]


class Damaged(StoreError):
    """A commit's file is there, and its bytes are not those that were written."""


class NodeStore:
    """The commits of one client in one run.

    Args:
        folder: Of the run, in the node's folder of states.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(
        self, round: int | str, fits: Callable[[Commit], bool] = lambda _: True
    ) -> Commit | None:
        """A commit of a round.

        Args:
            round: Its number, or ``MODEL``.
            fits: Which of them is meant, where the round was done with several messages.

        Returns:
            The first one that fits, whatever is damaged beside it; None where there is none.

        Raises:
            Damaged: None fits, and a damaged file may be the one.
            StoreError: None fits, and a file that cannot be read may be the one.
        """
        lost: StoreError | None = None
        for path in self._paths(round):
            try:
                commit = _read(path)
            except StoreError as error:
                lost = lost or error
                continue
            if commit is not None and fits(commit):
                if lost is not None:
                    skipped(lost)
                return commit
        if lost is not None:
            raise lost
        return None

    def put(self, round: int | str, commit: Commit) -> None:
        """Write a commit, durably. One of a round stays beside another one: the server may go on
        from either, and what was asked first may arrive last. One whose file is damaged stays as
        well, for it may be the other one: it is said.

        Args:
            round: Its number, or ``MODEL``.
            commit: What is kept.

        Raises:
            StoreError: The disk is full, or the folder cannot be written.
        """
        rest = commit.state + (commit.message or b"")
        head = _Head(commit.key, len(commit.state), commit.message is not None, commit.details)
        line = json.dumps(head._replace(sha256=head.digest(rest))._asdict()).encode()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._path(round, commit.key), line + b"\n" + rest)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written: {error.strerror}") from None

    def forget(self, before: int) -> None:
        """Remove the commits of rounds that nobody will ask for again.

        Args:
            before: The first round that stays.

        Raises:
            StoreError: The disk removes nothing.
        """
        for path in self._folder.glob(f"*{SUFFIX}*"):  # half-written ones of a killed host, too
            number = path.name.partition(".")[0].partition("-")[0]
            if number.isdecimal() and int(number) < before:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise StoreError(f"{path} cannot be removed: {error.strerror}") from None

    def _paths(self, round: int | str) -> Iterator[Path]:
        """Of a round's commits, the first one first."""
        yield self._first(round)
        yield from sorted(self._folder.glob(f"{round}-*{SUFFIX}"))

    def _path(self, round: int | str, key: str) -> Path:
        """Where a commit is written."""
        first = self._first(round)
        try:
            known = None if round == MODEL else _read(first)
            if known is None or known.key == key:
                return first
        except StoreError as error:
            skipped(error)
        return first.with_name(f"{round}-{key[:NAMED]}{SUFFIX}")

    def _first(self, round: int | str) -> Path:
        return self._folder / f"{round}{SUFFIX}"


def skipped(error: StoreError) -> None:
    """Say of a file that the node goes on without it, once a process: every request of a round
    would come upon the same file.

    Args:
        error: Names it.
    """
    _said(f"skipped: {error}")


@cache
def _said(sentence: str) -> None:
    logged(sentence)


def _read(path: Path) -> Commit | None:
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    line, _, rest = whole.partition(b"\n")
    try:
        head = _Head(**json.loads(line))
        if head.digest(rest) != head.sha256:
            raise ValueError("its bytes are not those that were written")
        head.check(len(rest))
        state, message = rest[: head.state], rest[head.state :]
        return Commit(head.key, state, message if head.message else None, head.told)
    except (ValueError, TypeError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: {error}") from None


class _Head(NamedTuple):
    """The first line of a commit's file."""

    key: str
    state: int  # bytes of it; the message is what follows
    message: bool
    told: dict[str, Any]
    sha256: str = ""  # of all that stands before it, and of all that follows the line

    def digest(self, rest: bytes) -> str:
        """The sha256 of a file with this line.

        Args:
            rest: What follows it.

        Returns:
            64 hexadecimal digits.
        """
        return hashlib.sha256(json.dumps(self[:-1]).encode() + rest).hexdigest()

    def check(self, size: int) -> None:
        """Raise ValueError where it is not of what ``put`` writes.

        Args:
            size: Bytes of what follows it.
        """
        whole = type(self.state) is int and 0 <= self.state <= size
        if not (whole and isinstance(self.key, str) and isinstance(self.told, dict)):
            raise ValueError("its first line is not one that was written")


def salt_of(state: Path) -> bytes:
    """The secret of a node, in its state folder, which is made where it is not there: what the
    digest of its data is keyed with.

    Args:
        state: The node's folder of states.

    Returns:
        SALTED bytes.

    Raises:
        StoreError: It cannot be read or written, or is damaged.
    """
    path = state / SALT
    if not path.is_file():
        try:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_secret(path, secrets.token_bytes(SALTED))
        except OSError as error:
            raise StoreError(f"{state} cannot be written: {error.strerror}") from None
    try:
        salt = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if len(salt) != SALTED:
        raise StoreError(f"{path} is damaged: put it back as it was")
    return salt
