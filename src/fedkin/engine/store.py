"""Where a host keeps its clients' personal states: in memory, or on disk when there are
too many.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from fedkin.core.errors import Halted, reason
from fedkin.core.files import read_file, write_file
from fedkin.core.system.posix import memory
from fedkin.core.tree import Tree
from fedkin.engine.codec import BadMessage, decode, encode

LARGEST = min(8 << 30, memory() // 2)  # bytes of one state, which is decoded beside its file


class StoreError(Halted):
    """A state cannot be read or written: the host's failure, not one client's, so it
    ends the run.
    """


class Store(Protocol):
    """Personal states by client."""

    def get(self, client: int) -> Tree | None:
        """The state of a client, or None before its first round.

        Args:
            client: Its number.

        Returns:
            A tree.
        """

    def put(self, client: int, state: Tree) -> None:
        """Replace the state of a client.

        Args:
            client: Its number.
            state: A tree.
        """


class Memory:
    """States in this process's memory."""

    def __init__(self) -> None:
        self._states: dict[int, Tree] = {}

    def get(self, client: int) -> Tree | None:
        """The state of a client, or None before its first round.

        Args:
            client: Its number.

        Returns:
            The tree itself, not a copy.
        """
        return self._states.get(client)

    def put(self, client: int, state: Tree) -> None:
        """Replace the state of a client.

        Args:
            client: Its number.
            state: A tree, kept as it is.
        """
        self._states[client] = state


class Disk:
    """One safetensors file a client, written under another name and renamed: memory holds one state
    at a time.

    Args:
        folder: Of the files; it is made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known = {int(path.stem) for path in folder.glob("*.safetensors")}

    def get(self, client: int) -> Tree | None:
        """The state of a client, or None before its first round.

        Args:
            client: Its number.

        Returns:
            A tree, read anew at each call.
        """
        return read_state(self._path(client)) if client in self._known else None

    def put(self, client: int, state: Tree) -> None:
        """Replace the state of a client.

        Args:
            client: Its number.
            state: A tree.

        Raises:
            StoreError: The folder cannot be written.
        """
        try:
            write_file(self._path(client), encode(state), durable=False)
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written: {reason(error)}") from None
        self._known.add(client)

    def _path(self, client: int) -> Path:
        return self._folder / f"{client}.safetensors"


class Copies:
    """A checkpoint's states, copied aside where their run may go on and remove them.

    Who looks at one client needs no other's file.

    Args:
        folder: Where copies go; it is made.
        states: {client: the file of its state}.
        copied: Of whom copies are made at once; the others' files are read where they are. None: of
            everybody.
    """

    def __init__(
        self, folder: Path, states: Mapping[int, Path], copied: Collection[int] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.lost: dict[int, StoreError] = {}
        self._sources, self._places = dict(states), dict(states)
        self._copies = Disk(folder)
        for client in states if copied is None else [one for one in copied if one in states]:
            place = folder / f"{client}.safetensors"
            try:
                content = read_file(states[client], LARGEST, links=False)
                write_file(place, content, durable=False)
            except OSError as error:
                self.lost[client] = _unread(states[client], error)
            self._places[client] = place

    def get(self, client: int) -> Tree | None:
        """The state of a client, or None before its first round.

        Args:
            client: Its number.

        Returns:
            A tree, read from the copy where there is one.

        Raises:
            StoreError: Its file was lost or damaged when it was copied, or is so now.
        """
        if client in self.lost:
            raise self.lost[client]
        if client in self._sources:  # damage is reported there
            return read_state(self._places[client], self._sources[client])
        return self._copies.get(client)

    def put(self, client: int, state: Tree) -> None:
        """Replace the copy of a client's state: the checkpoint stays.

        Args:
            client: Its number.
            state: A tree.
        """
        self._copies.put(client, state)
        self.lost.pop(client, None)
        self._sources.pop(client, None)


def read_state(path: Path, source: Path | None = None) -> Tree:
    """The tree in a file that ``write_file`` wrote.

    ``source``: the file to name, where ``path`` is a copy of it.

    Args:
        path: The file that is read.
        source: The file that messages name; None: ``path``.

    Returns:
        A tree of the tensors and plain values that were written.

    Raises:
        StoreError: It is missing, a link, or not what ``encode`` wrote; names the file.
    """
    try:
        return decode(read_file(path, LARGEST, links=False))
    except OSError as error:
        raise _unread(path, error) from None
    except BadMessage as error:
        raise StoreError(f"{source or path} is damaged: {error}") from None


def _unread(path: Path, error: OSError) -> StoreError:
    if isinstance(error, FileNotFoundError):
        return StoreError(f"{path} is gone, and a model with it: put it back, or train again")
    return StoreError(f"{path} cannot be read: {error.strerror}")


STORES: dict[str, Callable[[Path], Store]] = {"memory": lambda _: Memory(), "disk": Disk}
