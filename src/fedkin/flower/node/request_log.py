"""What a server may ask of a node: rounds of the configured experiment, each with few contents,
none when it is over.

A server is not trusted with a node's states or its time. What it asked is kept in a file of the
run, one line a step and content, so that a restart of the host forgets nothing of it. A
protected run ends on a node that lost this file.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from fedkin.engine.op import CHANGING, EVALUATIONS, LAST, SCORING, WORK, RemoteOp
from fedkin.engine.store import StoreError
from fedkin.flower.envelope import Refused, RemoteStep, Request
from fedkin.flower.node.lines import add_lines
from fedkin.flower.node.protected_runs import is_begun, note_begun
from fedkin.runs.spec import Spec

# Of one step: a server that was cut off asks it again, with other clients missing in between
MOST_CONTENTS = 10
# Two sums of one round's updates, of different clients, would tell an update; so with scores, of
# which one list is opened. A node that signs its survivors reveals for those that it signed
OF_ALL = {"score_keys": 1}
ONCE = {**OF_ALL, "reveal": 1, "count_reveal": 1, "score_reveal": 1}
ONCE_SIGNED = {**OF_ALL, "agree": 1, "count_agree": 1, "score_agree": 1}
# A node's noise of a round is counted for one message
NOISED = {"local": 1}
MOST_RUNS = 200  # on one node
ASKED = "asked"  # the file in a run's folder
DONE = "done"  # its last line, when the client's model of a run is made
DATA = "data"  # of a line: which data of the node the lines after it were asked of
RUN = re.compile(r"[0-9a-f]{16}([0-9a-f]{4})?")
LINE = re.compile(r"[a-z_]+ [0-9]{1,9} [0-9a-f]{32}")  # a step and what it was asked with
INTRODUCTION: RemoteOp = "introduce"
FINISH: tuple[RemoteOp, ...] = ("finish", LAST)
AFTER = (*FINISH, *SCORING)  # what may be asked in the round after the last
RELEASED: tuple[RemoteOp, ...] = (WORK, EVALUATIONS[0])  # what shows a node the model of a round


class RequestLog:
    """What the server has requested of this client in one run. A newcomer whose node has another
    data file since may be asked all of it again.

    Args:
        folder: Of the run, in the node's folder of states.
        data: The digest of a file of the node's own; "": it has its part of [data].
        signs: Whether the node signs whose messages a sum is of, before it takes masks off.

    Raises:
        StoreError: The file of what was asked is there, and cannot be read.
    """

    def __init__(self, folder: Path, data: str = "", signs: bool = False) -> None:
        self.folder, self._data, self._told = folder, data, ""
        self._once = ONCE_SIGNED if signs else ONCE
        self._path = folder / ASKED
        lines = _lines(self._path)
        self._contents: dict[str, set[str]] = {}
        self._ever: dict[str, set[str]] = {}  # whatever the data were
        for line in lines:
            key, _, content = line.rpartition(" ")
            if key == DATA:
                self._begin(content)
            elif LINE.fullmatch(line):  # half a line is of what was not done yet
                self._enter(key, content)
        self.done = DONE in lines

    def check(self, spec: Spec, request: Request, message: bytes | None) -> None:
        """Enter a request.

        Args:
            spec: The experiment.
            request: Of its server.
            message: What came with it; None: nothing.

        Raises:
            Refused: No honest server asks this; nothing was done or removed.
        """
        self._check_run(request)
        self._check_rounds(spec, request)
        contents = _contents(request, message)
        lines = [f"{DATA} {self._data}"] if self._data not in ("", self._told) else []
        self._begin(self._data)
        once = {**self._once, **NOISED} if spec.privacy.at_client else self._once
        known = {key: self._known(key, once) for key in contents}
        new = [key for key in contents if contents[key] not in known[key]]
        assert request.place is not None
        counted = request.place.joined is None  # a newcomer's data are in no model of the run
        hidden = counted and protected(spec)
        self._check_open(hidden, new)
        if spec.privacy.on and counted:
            self._check_forward(new)
        for key in new:
            most = once.get(_op(key), MOST_CONTENTS)
            if len(known[key]) >= most:
                times = "once" if most == 1 else f"{most} times"
                raise Refused(f"{key} was asked {times} already, with different messages")
        if new:
            add_lines(self._path, [*lines, *(f"{key} {contents[key]}" for key in new)])
            for key in new:
                self._enter(key, contents[key])
        if hidden:
            note_begun(self.folder)

    def _known(self, key: str, once: dict[str, int]) -> set[str]:
        """What a step was asked with: what is asked once, whatever the data were."""
        return (self._ever if _op(key) in once else self._contents).get(key, set())

    def _enter(self, key: str, content: str) -> None:
        for contents in (self._contents, self._ever):
            contents.setdefault(key, set()).add(content)

    def _begin(self, data: str) -> None:
        """With other data of the node's own."""
        if self._told and data and self._told != data:
            self._contents = {}
        self._told = data or self._told

    def _check_open(self, hidden: bool, new: list[str]) -> None:
        """Refuse what is new to a run that is over, and a protected run of which it is not known
        any more what was asked: two answers to one round would tell what one of them hides, and
        nobody could count how often its server has released a round.
        """
        if hidden and not self._path.is_file() and is_begun(self.folder):
            raise Refused(
                f"this run began on this node, and its file {self._path.name} is gone, by which no "
                "round is told twice: begin another run"
            )
        if self.done and any(_op(key) not in SCORING for key in new):
            remedy = f"remove {self._path.name} from its folder to let it go on"
            raise Refused(
                "its run is finished on this node: " + ("begin another run" if hidden else remedy)
            )

    def _check_forward(self, new: list[str]) -> None:
        """Refuse an older round of a run with noise: its server commits a round before it begins
        the next one, and accounts for one round more where it was cut off. One that was put back
        further releases rounds again that it knows nothing of, and their states here would be gone.
        """
        last = max((_round(key) for key in self._ever if _op(key) in RELEASED), default=0)
        for key in new:
            if _op(key) in RELEASED and _round(key) < last:
                raise Refused(
                    f"{key} is asked anew, and this node has been asked of round {last}: the "
                    "server's run was put back, and what it releases again is not accounted for; "
                    "begin another run"
                )
        self._check_unfinished(new)

    def _check_unfinished(self, new: list[str]) -> None:
        """Refuse a round after the finish: what a client does then has no noise, and nothing that
        is made of it is sent.
        """
        finished = [_round(key) for key in (*self._ever, *new) if _op(key) == FINISH[0]]
        for key in new:
            if _op(key) == WORK and finished and _round(key) > min(finished):
                raise Refused(
                    f"{key} is asked after the finish of round {min(finished)}, which has no "
                    "noise: begin another run"
                )

    def again(self) -> int:
        """How many models of rounds, at least, this node was told once more, as another one: where
        the server adds the noise, a round that it did again has noise of its own, and is a release
        of its own.

        Returns:
            A number from 0.
        """
        # all but the evaluation of a round have the model of the round before
        models = {
            _round(key) - (_op(key) != EVALUATIONS[0])
            for key in self._ever
            if _op(key) in (*RELEASED, *FINISH)
        }
        return sum(self._told_of(model) - 1 for model in models if model > 0)

    def _told_of(self, model: int) -> int:
        """How many different models of a round came. One that is evaluated, and worked with or
        finished in the next round, comes in equal messages to an equal state. An evaluation after a
        finish is of the state that this left: its messages can be told from each other alone.
        """

        def asked(op: RemoteOp, round: int) -> set[str]:
            return self._ever.get(f"{op} {round}", set())

        finished, last = asked(FINISH[0], model + 1), asked(LAST, model + 1)
        before = asked(EVALUATIONS[0], model) | asked(WORK, model + 1) | finished
        return max(len(last), len(before if finished else before | last))

    def finish(self) -> None:
        """The run's model is made: from now on what was asked before is answered again, and
        nothing else but stages of its scores, which have other keys each time: a server that was
        cut off while they left asks for them again.
        """
        if not self.done:
            add_lines(self._path, [DONE])
            self.done = True

    def _check_run(self, request: Request) -> None:
        if not request.run:
            raise Refused("a request for work names its run")
        if not self.folder.is_dir() and self.folder.parent.is_dir():
            there = sum(1 for _ in _runs(self.folder.parent))
            if there >= MOST_RUNS:
                raise Refused(
                    f"this node holds {there} runs: remove those that are not needed from its "
                    "state folder"
                )

    def _check_rounds(self, spec: Spec, request: Request) -> None:
        place = request.place
        assert place is not None
        rounds = spec.run.rounds
        first, last = (
            (0, rounds + 1) if place.joined is None else (place.joined, place.joined + rounds + 2)
        )
        for step in request.steps:
            _check_introduction(request, step)
            late = step.round > last - (place.joined is None and step.op not in AFTER)
            early = step.round < first or (
                step.op in (WORK, *FINISH) and step.round <= request.base.round
            )
            if late or (early and step.op != LAST):
                raise Refused(f"{step.op} {step.round} is no round of this run, which has {rounds}")
        if request.keep > request.base.round:
            raise Refused(
                f"states before round {request.keep} are still needed: its own is of "
                f"{request.base.round}"
            )


def _check_introduction(request: Request, step: RemoteStep) -> None:
    """Refuse an introduction of anything but the first state: it has no noise, and no masks."""
    if step.op == INTRODUCTION and (
        step.round or request.base.round or step is not request.steps[0]
    ):
        raise Refused(
            f"{step.op} {step.round} is no introduction, which comes before the first round"
        )


def hides(spec: Spec) -> bool:
    """Whether a node hides from its server what it sends.

    Args:
        spec: The experiment.

    Returns:
        True where clients add noise, or masks hide their messages.
    """
    return spec.privacy.at_client or spec.privacy.secure_aggregation is not None


def protected(spec: Spec) -> bool:
    """Whether a second answer to a round would tell something that one answer hides.

    Args:
        spec: The experiment.

    Returns:
        True where anybody adds noise, or masks hide clients' messages.
    """
    return spec.privacy.on or hides(spec)


def _lines(path: Path) -> list[str]:
    """Of a file that need not be there."""
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None


def _runs(state: Path) -> Iterator[Path]:
    return (path for path in state.iterdir() if RUN.fullmatch(path.name))


def _key(step: RemoteStep) -> str:
    return f"{step.op} {step.round}"


def _op(key: str) -> str:
    return key.partition(" ")[0]


def _round(key: str) -> int:
    return int(key.partition(" ")[2])


def _contents(request: Request, message: bytes | None) -> dict[str, str]:
    """What each step is asked with: the round of the state that it begins from, and the message.

    A server that was killed asks one by one for what it had asked for together.
    """
    base, digests = request.base.round, {}
    for step in request.steps:
        whole = hashlib.sha256(f"{base} {request.place}".encode())
        whole.update(message or b"")
        digests[_key(step)] = whole.hexdigest()[:32]
        if step.op in CHANGING:
            base = step.round
    return digests
