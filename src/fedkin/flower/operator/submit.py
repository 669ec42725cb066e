"""``fedkin deploy run``: submit the app to the SuperLink, then follow its run directory until it
ends.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from fedkin.core.errors import FedkinError, reason
from fedkin.core.files import write_file
from fedkin.experiment.terminal import print_notice
from fedkin.experiment.training import Interrupted
from fedkin.flower.commands import flwr, of_shell
from fedkin.flower.config import (
    DEPLOYMENT,
    SUBMITTED,
    Deployment,
    ended_of,
    load,
    spec_of,
    stop_of,
    waiting_of,
)
from fedkin.flower.identities import masked
from fedkin.flower.operator.command_line import LINK, CommandLine, settings
from fedkin.flower.operator.held_signals import signals_deferred
from fedkin.flower.operator.site import check_peers
from fedkin.flower.operator.supervisor import warn_of
from fedkin.flower.stopping import run_again
from fedkin.flower.waiting import word_at
from fedkin.runs import checkpoint
from fedkin.runs.directory import OWN, has_begun
from fedkin.runs.follow import follow
from fedkin.runs.record import Record
from fedkin.runs.spec import Spec

# Seconds without a new round after which the SuperLink is asked whether the run is still there
LOOK = 20.0
# Seconds without a word of the run, of its server app or of the SuperLink (which is started again
# at once where it is supervised) after which nothing is waited for any more
SILENCE = 180.0
GOES_ON = ("pending", "starting", "running")  # what the SuperLink says of a run that is not over


class Prepared(NamedTuple):
    """The experiment, the run directory, whether the data that [data] names are looked at here
    (nodes with files of their own have them, and [data] name is a title), and how such nodes come
    by their data.
    """

    spec: Spec
    out: Path
    looked_at: bool
    divided: str | None


def prepared(folder: Path, resume: bool) -> Prepared:
    """What a run needs; its directory is the last one for a resume, else the next number.

    Args:
        folder: Of the deployment.
        resume: Whether the last run goes on.

    Returns:
        The experiment, and the run directory, which need not be there.

    Raises:
        FedkinError: There is no run to go on with, or keys of nodes are not as they have to be.
    """
    deployment, spec = load(Deployment, folder, DEPLOYMENT), spec_of(folder)
    if masked(spec, deployment.insecure):
        check_peers(folder, deployment)
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    last = max((int(path.name) for path in runs.iterdir() if path.name.isdecimal()), default=0)
    if resume and not last:
        raise FedkinError(f"{folder} has no run to resume: leave out --resume")
    out = runs / str(last if resume else last + 1)
    own = deployment.own_data
    return Prepared(spec, out, not (own or resume), f"{OWN} data" if own else None)


def submit(folder: Path, out: Path, progress: Callable[[Record], None]) -> Path:
    """Run until the end.

    Args:
        folder: Of the deployment.
        out: The run directory.
        progress: Called with the record of each round.

    Returns:
        The run directory.

    Raises:
        FedkinError: The server app's sentence.
        Interrupted: After Ctrl-C; what is committed stays.
    """
    folder, out = folder.absolute(), out.absolute()
    deployment = load(Deployment, folder, DEPLOYMENT)
    warn_of(folder)
    flower = Submitted(folder, deployment)
    with one_at_a_time(folder):
        check_over(folder, deployment, folder / SUBMITTED)
        if has_begun(out):
            with checkpoint.alone(out):  # a server app may still be writing its last round
                pass
        flower.begin({"deployment": str(folder), "out": str(out)}, folder / SUBMITTED, out)
    asked = False
    try:
        for record in follow(out, flower.over):
            flower.alive()
            progress(record)
    except KeyboardInterrupt:
        asked = True
        _stop(folder, out, flower, progress)
    flower.check(run_again(folder, out), asked)
    return out


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Two terminals that begin a run at once, or a join of one node, would both find that none goes
    on.

    Args:
        folder: The deployment's.

    Yields:
        Nothing; nobody else begins one meanwhile.

    Raises:
        FedkinError: Another terminal is beginning one.
    """
    try:
        with FileLock(folder / "submit.lock", timeout=0):
            yield
    except Timeout:
        raise FedkinError(f"{folder}: a run or a join is being begun in another terminal") from None


def check_over(folder: Path, deployment: Deployment, note: Path, newcomer: str = "") -> None:
    """Refuse a second run, or a second join of one node, beside the last one; take away what that
    left.

    Args:
        folder: The deployment's.
        deployment: Its configuration.
        note: Where the last one is noted; nothing is refused where there is none.
        newcomer: Who joins; "" for a run.

    Raises:
        FedkinError: The last one goes on.
    """
    try:
        kept = json.loads(note.read_text(encoding="utf-8"))
        run, number = str(kept["run"]), str(kept["flower"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FedkinError(
            f"{note} cannot be read: {reason(error)}; remove it once no run goes on"
        ) from None
    last = Submitted(folder, deployment, number)
    if not last.word.is_file() and last.status().startswith(GOES_ON):
        what = f"the join of {newcomer} to run {run}" if newcomer else f"run {run}"
        when = f"once {newcomer} has answered" if newcomer else "after its round"
        soft = of_shell("touch", stop_of(folder, number))
        raise FedkinError(
            f"{what} of {folder} still goes on: wait for its end, or let it end {when} "
            f"({soft}), or at once ({flwr(last.home, 'stop', number, LINK)})"
        )
    last.clear()


def _stop(folder: Path, out: Path, flower: "Submitted", progress: Callable[[Record], None]) -> None:
    """Let the server app end its round; it leaves word why it ended."""
    stop_of(folder, flower.number).touch()
    print("ending this round, then stopping; Ctrl-C again does not wait for it", file=sys.stderr)
    try:
        for record in follow(out, flower.over):
            progress(record)
    except KeyboardInterrupt:
        raise Interrupted(
            f"the server app stops after its round; then {run_again(folder, out)}"
        ) from None


class Submitted:
    """A run of Flower that was started from here, under a number that is its alone.

    Args:
        folder: Of the deployment.
        deployment: Its configuration.
        number: Of the Flower run; "" before it is started.
    """

    def __init__(self, folder: Path, deployment: Deployment, number: str = "") -> None:
        self.folder, self.number = folder, number
        self._flower = CommandLine(folder, deployment)
        self._looked = self._heard = time.monotonic()
        self._status = ""
        self._waiting = ""

    @property
    def home(self) -> Path:
        """FLWR_HOME of who asks Flower by hand."""
        return self._flower.home

    @property
    def word(self) -> Path:
        """Where the server app leaves word how it ended."""
        return ended_of(self.folder, self.number)

    def begin(self, config: dict[str, str], note: Path, out: Path) -> None:
        """Start it, and note it. What ends this terminal waits until both are done: nobody would
        know of a run that is not noted.

        Args:
            config: What the server app is told.
            note: Where the note is left.
            out: The run directory.

        Raises:
            FedkinError: The SuperLink does not answer, or does not take it.
        """
        with signals_deferred():
            self.submit(config)
            self.note(note, out)

    def submit(self, config: dict[str, str]) -> None:
        """Start it (``flwr run``).

        Args:
            config: What the server app is told.

        Raises:
            FedkinError: The SuperLink does not answer, or does not take it.
        """
        text = settings(**config)
        answer = self._flower.ask("run", str(self.folder / "app"), LINK, "--run-config", text)
        self.number = str(answer["run-id"])

    def note(self, path: Path, out: Path) -> None:
        """Leave word for the next one of its kind which Flower run this is, of which directory.

        Args:
            path: Where the word is left.
            out: The run directory.
        """
        write_file(path, json.dumps({"run": out.name, "flower": self.number}).encode())

    def clear(self) -> None:
        """Take away the files by which its server app and a terminal spoke."""
        number = self.number
        for left in (self.word, stop_of(self.folder, number), waiting_of(self.folder, number)):
            left.unlink(missing_ok=True)

    def alive(self) -> None:
        """The run was seen at work: asking for it is a process of its own, which can wait."""
        self._looked = self._heard = time.monotonic()

    def over(self) -> bool:
        """Whether the server app has left word, or the SuperLink knows that it is gone, or neither
        of them is there any more.

        Returns:
            False while it goes on.
        """
        self._say_who_is_waited_for()
        if self.word.is_file():
            return True
        if time.monotonic() - self._looked > LOOK:
            self._status = self.status()
            self._looked = time.monotonic()
            if self._status:
                self._heard = self._looked
        return self._status.startswith("finished") or self._looked - self._heard > SILENCE

    def wait(self) -> None:
        """Until it is over."""
        while not self.over():
            time.sleep(0.5)

    def _say_who_is_waited_for(self) -> None:
        """Each time that it is somebody else: nothing is shown until all nodes are there."""
        word = word_at(waiting_of(self.folder, self.number))
        if word and word != self._waiting:
            print_notice(word)
        self._waiting = word

    def status(self) -> str:
        """What the SuperLink says of the run; empty where it does not answer, for it may be
        starting again.

        Returns:
            "running", "finished:completed", …, or "".
        """
        try:
            return str(self._flower.ask("ls", LINK, "--run-id", self.number)["runs"][0]["status"])
        except (FedkinError, KeyError, IndexError):
            return ""

    def check(self, hint: str, asked: bool = False) -> None:
        """Refuse an end that is none: the run was cut off, failed or was stopped. Flower interrupts
        a server app whose SuperLink is gone.

        Args:
            hint: What to do where it left no word.
            asked: Whether it was asked from here to stop.

        Raises:
            FedkinError: The server app's sentence, or that it left no word.
            Interrupted: It was stopped from here.
        """
        if not self.word.is_file():
            what = self._status or "the SuperLink does not answer, or does not know it any more"
            raise FedkinError(
                f"the server app ended without a word (Flower run {self.number}: {what}); {hint}"
            )
        word = json.loads(self.word.read_text())
        if word["interrupted"] and not asked:
            raise FedkinError(
                "the server app was stopped, not from here (is its SuperLink gone?): "
                f"{word['error']}"
            )
        if word["error"] is not None:
            raise (Interrupted if word["interrupted"] else FedkinError)(word["error"])
