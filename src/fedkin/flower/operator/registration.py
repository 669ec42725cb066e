"""The nodes' keys at the SuperLink: it is told those that it does not know yet, by their names."""

import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.flower.address import local_address
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator.command_line import LINK, CommandLine

PAUSE = 5.0  # seconds before what failed is tried again
CUT_OFF = ("unregistered", "deleted")  # what Flower calls a node whose key was revoked
IN_USE = "already in use"  # what it says of a key that is registered, and of one that was revoked


class Registration:
    """Registers keys, one a step: each step is a process of Flower, which costs seconds, and
    whoever keeps the SuperLink has to look after it in between.

    A key whose node the SuperLink lists is not told again. Flower gives such a node no name, so it
    is known by its number, which ``keys/NAME.node`` holds from its registration on.

    Args:
        folder: The deployment's.
        deployment: Its configuration.
        names: Of the nodes; None: all of its clients and newcomers.
    """

    def __init__(
        self, folder: Path, deployment: Deployment, names: Sequence[str] | None = None
    ) -> None:
        self._keys, self._deployment = folder / "keys", deployment
        self._flower = CommandLine(folder, deployment)
        self._names = list(dict.fromkeys(deployment.names if names is None else names))
        self._left = list(self._names)
        self._listed = False
        self._said, self._again = "", 0.0
        self.refused: dict[str, str] = {}

    def step(self) -> bool:
        """Ask the SuperLink for one thing.

        Returns:
            Whether nothing is left to be asked. ``refused`` then has a sentence on each node
            that is not registered.

        Raises:
            FedkinError: It did not answer, or failed; the same step can be taken again.
        """
        if not self._listed:
            self._list()
        elif self._left:
            self._register(self._left[0])
            del self._left[0]
        return not self._left

    def attempt(self) -> bool:
        """A step of somebody who comes back until all is done: what goes wrong is said once, and
        a SuperLink that does not listen yet is no mistake.

        Returns:
            Whether nothing is left to be asked.
        """
        if time.monotonic() < self._again or not listens(self._deployment):
            return False
        try:
            done = self.step()
        except FedkinError as error:
            self._again = time.monotonic() + PAUSE
            if str(error) != self._said:
                print(f"keys are not registered yet: {error}", file=sys.stderr, flush=True)
            self._said = str(error)
            return False
        if done:
            self._tell()
        return done

    def _number(self, name: str) -> str:
        """Of a node, as it was when its key was registered; "" where nothing is known of it."""
        path = self._keys / f"{name}.node"
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""

    def _list(self) -> None:
        """Leave out whom the SuperLink knows; it is not asked where no number could be compared."""
        numbers = {name: self._number(name) for name in self._names}
        if any(numbers.values()):
            nodes = self._flower.ask("supernode", "list", LINK)["nodes"]
            here = {str(node["node-id"]) for node in nodes if node["status"] not in CUT_OFF}
            self._left = [name for name in self._names if numbers[name] not in here]
        self._listed = True

    def _register(self, name: str) -> None:
        key = self._keys / f"{name}.pub"
        if not key.is_file():
            self.refused[name] = f"{name} is not registered: {key} does not exist"
            return
        try:
            answer = self._flower.ask("supernode", "register", str(key), LINK, "--name", name)
        except FedkinError as error:
            if IN_USE not in str(error):
                raise
            self.refused[name] = self._why_in_use(name)
            return
        # who revokes a key needs the number
        write_file(self._keys / f"{name}.node", f"{answer['node-id']}\n".encode())

    def _why_in_use(self, name: str) -> str:
        """Flower refuses a key that is registered and one that was revoked in the same words."""
        if self._number(name):
            return (
                f"{name} is not registered: its key was revoked, and Flower never takes it again; "
                "docs/deploy.md says how the node gets a new one (A key that is lost)"
            )
        return (
            f"{name} is registered, or its key was revoked: it is not known which, for "
            f"{self._keys / f'{name}.node'} with Flower's number of the node is gone"
        )

    def _tell(self) -> None:
        for why in self.refused.values():
            print(f"warning: {why}", file=sys.stderr, flush=True)
        all_of_them = len(self._names)
        if self.refused:
            print(f"{all_of_them - len(self.refused)} of {all_of_them} nodes are registered")
        else:
            print("all nodes are registered")
        sys.stdout.flush()


def register_now(folder: Path, name: str) -> bool:
    """Register one node's key, if the SuperLink is up.

    Args:
        folder: The deployment's.
        name: The node's.

    Returns:
        Whether it is registered; False where the SuperLink is not up, or has no registration.

    Raises:
        FedkinError: The SuperLink is up, and does not take the key.
    """
    folder = folder.absolute()
    deployment = load(Deployment, folder, DEPLOYMENT)
    if deployment.insecure or not listens(deployment):
        return False
    work = Registration(folder, deployment, [name])
    while not work.step():
        continue
    if name in work.refused:
        raise FedkinError(work.refused[name])
    return True


def listens(deployment: Deployment) -> bool:
    """Whether anybody listens where the SuperLink should.

    Args:
        deployment: Whose.

    Returns:
        True where a connection is taken.
    """
    host, _, port = local_address(deployment.address, deployment.listen).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 2).close()
    except OSError:
        return False
    return True
