"""The nodes that a start waits for, and word of them from the server app to the terminal that began
it.
"""

import json
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from fedkin.core.errors import FedkinError, some
from fedkin.core.files import read_file, write_file
from fedkin.flower.dispatcher import Between, Dispatcher
from fedkin.flower.envelope import Facts
from fedkin.flower.stopping import stop_if_asked

SHOWN = 20  # names, at most
SLOW = 3.0  # seconds after which it is said that a node is connected and does not answer
# seconds that a node which is connected has at least, however little is left of [wait]: it may read
# a large file first
LEAST = 60.0
LARGEST = 1 << 16  # bytes of the word


class Waiting:
    """Leaves the word, anew whenever others are missing.

    Args:
        path: Where it is left; None: nobody looks.
        clients: How many there are.
    """

    def __init__(self, path: Path | None, clients: int) -> None:
        self._path, self._clients = path, clients
        self._told: list[str] = []

    def tell(self, missing: Sequence[str]) -> None:
        """Say who is missing. A disk that is full keeps nobody from waiting.

        Args:
            missing: Their names; nobody's once all are there.
        """
        if self._path is None or list(missing) == self._told:
            return
        self._told = list(missing)
        if missing:
            self._leave(f"waiting for {self.some(missing)}")
        else:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def go_on(self, missing: Sequence[str]) -> None:
        """Say who is not waited for any more.

        Args:
            missing: Their names; nobody's once all are there.
        """
        if missing:
            self._leave(f"going on without {self.some(missing)}")

    def some(self, missing: Sequence[str]) -> str:
        """The first of them, and how many they are.

        Args:
            missing: Their names.

        Returns:
            Words.
        """
        return f"{some(missing, SHOWN)} ({len(missing)} of {self._clients} nodes)"

    def _leave(self, word: str) -> None:
        if self._path is not None:
            with suppress(OSError):
                write_file(self._path, json.dumps({"waiting": word}).encode())


def word_at(path: Path) -> str:
    """Who is waited for.

    Args:
        path: Where the word is left.

    Returns:
        A sentence; "" where nobody is waited for.
    """
    try:
        return str(json.loads(read_file(path, LARGEST))["waiting"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def hello(
    dispatcher: Dispatcher, patience: float, word: Path | None = None, stop: Path | None = None
) -> dict[str, Facts | None]:
    """What every client's node tells of its data, when a run begins.

    Args:
        dispatcher: What reaches them.
        patience: Seconds that they are waited for.
        word: Where it is left who is waited for; None: nobody looks.
        stop: The file by which somebody ends the waiting; None: nobody can.

    Returns:
        Client → what its node tells; None of a node without data of its own.

    Raises:
        FedkinError: Nodes did not come in time, or, once all have come, some refuse.
        Interrupted: It was ended.
    """
    names = dispatcher.deployment.clients
    facts, why = _called(dispatcher, patience, Waiting(word, len(names)), stop)
    if why:
        raise _not_ready(why, len(names))
    return {name: facts[name] for name in names}  # in their order, however they came


def hello_again(
    dispatcher: Dispatcher, patience: float, word: Path | None = None, stop: Path | None = None
) -> None:
    """Wait for the nodes of a run that goes on, so that it does so with all who come back in time.
    Those who do not, and those who refuse, are missing in its rounds, and it is said.

    Args:
        dispatcher: What reaches them; hears what is to be said.
        patience: Seconds that they are waited for.
        word: Where it is left who is waited for; None: nobody looks.
        stop: The file by which somebody ends the waiting; None: nobody can.

    Raises:
        FedkinError: None of them came, or all refuse.
        Interrupted: It was ended.
    """
    names = dispatcher.deployment.clients
    waiting = Waiting(word, len(names))
    _, why = _called(dispatcher, patience, waiting, stop)
    if len(why) == len(names):
        raise _not_ready(why, len(names))
    waiting.go_on(list(why))
    for name, reason in list(why.items())[:1]:
        dispatcher.remarks.append(
            f"the run was continued without {waiting.some(list(why))}; {name}: {reason}"
        )


def _called(
    dispatcher: Dispatcher, patience: float, waiting: Waiting, stop: Path | None
) -> tuple[dict[str, Facts | None], dict[str, str]]:
    """What each node tells, and of the others why they do not: until all have told, or all others
    refuse, or the time is over.
    """
    end = time.monotonic() + patience
    names = dispatcher.deployment.clients
    facts: dict[str, Facts | None] = {}
    while True:
        open_names = [name for name in names if name not in facts]
        nodes = dispatcher.nodes()
        here = {name: (dispatcher.request(name), None) for name in open_names if name in nodes}
        why = {name: dispatcher.why_unreachable(name) for name in open_names if name not in here}
        left = min(dispatcher.deployment.deadline, max(end - time.monotonic(), LEAST))
        between = _while_silent(waiting, open_names, list(why), stop)
        answers = dispatcher.exchange(here, left, between=between) if here else {}
        for name, reply in answers.items():
            if isinstance(reply, str):
                why[name] = reply
            else:
                facts[name] = reply[0].facts
        why = {name: why[name] for name in open_names if name in why}
        waiting.tell(list(why))
        if not why or time.monotonic() > end or len(here) == len(open_names):
            return facts, why
        stop_if_asked(stop, f"stopped while waiting for {some(list(why), SHOWN)}")
        time.sleep(1)


def _while_silent(
    waiting: Waiting, names: Sequence[str], away: Collection[str], stop: Path | None
) -> Between:
    """What is done while nodes that are connected do not answer. They are not asked anew meanwhile:
    a slow one would then have two messages.
    """
    asked = time.monotonic()

    def between(silent: Collection[str]) -> None:
        missing = [name for name in names if name in silent or name in away]
        if time.monotonic() - asked > SLOW:
            waiting.tell(missing)
        stop_if_asked(stop, f"stopped while waiting for {some(missing, SHOWN)}")

    return between


def _not_ready(why: dict[str, str], clients: int) -> FedkinError:
    missing = [f"{name}: {reason}" for name, reason in why.items()]
    more = f"; and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
    return FedkinError(
        f"{len(missing)} of {clients} clients are not ready. {'; '.join(missing[:SHOWN])}{more}"
    )
