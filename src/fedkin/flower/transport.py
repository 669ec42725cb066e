"""Nodes of a Flower federation as a Transport: one message a round for every client carries all
that is asked of it.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from fedkin.core.files import write_file
from fedkin.core.sums.exact import ExactSum
from fedkin.engine.codec import encode
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.host import SCORED
from fedkin.engine.op import CHANGING, EVALUATIONS, OPENING, WORK, Op, RemoteOp, Task, TaskResult
from fedkin.engine.store import read_state
from fedkin.flower.dispatcher import Dispatcher
from fedkin.flower.envelope import NOTES, VIEWS, Base, Done, NodeReply, Place, RemoteStep
from fedkin.flower.survivors import NOT_A_SURVIVOR, Survivors
from fedkin.runs import checkpoint

REASONS = 4  # of one client, that are told in its own words: it may give another one every round
OTHERS = "for other reasons"
NAMES = VIEWS + NOTES  # of a client's models and notes in a whole run: a report has a chart of each

Following = tuple[RemoteOp, int, Sequence[int]]  # op, round, clients
Then = Callable[[int], Sequence[Following]]


class FlowerTransport:
    """The Transport of a deployment.

    What follows travels with the evaluation and its answers wait here until they are asked for: the
    message down is the same, and nothing else of the server is needed for it. Personal states stay
    on their nodes, by round; the checkpoint holds receipts in their place: which round's state is a
    client's, and its sha256.

    Args:
        dispatcher: Reaches the nodes.
        places: {client: (its name, its place in the federation)}.
        then: round → what follows its evaluation, (op, round, clients) each.
        needed: op, round → how many replies it needs; 0: the run goes on without any.
        survivors: Of sums under masks, which a server that was stopped may have begun to take off.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        places: Mapping[int, tuple[str, Place]],
        then: Then,
        needed: Callable[[RemoteOp, int], int],
        survivors: Survivors,
    ) -> None:
        self.dispatcher, self.places = dispatcher, places
        self.then, self.needed, self.survivors = then, needed, survivors
        self.own: dict[int, Base] = {client: Base() for client in places}
        self._seen: dict[int, str] = {}  # digests of states that nobody has changed yet
        self._changed: set[int] = set()
        self._saved: dict[int, int] = {}
        self._saved_round = -1
        self._committed: dict[int, int] = {}
        self._ahead: dict[tuple[int, RemoteOp, int], tuple[str, TaskResult, Base]] = {}
        self._unscored: dict[int, Counter[str]] = {}  # client → why it was not evaluated, how often
        self._names: dict[int, set[str]] = {}  # client → what its evaluations were of

    def ask(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Ask clients for one op of a round; what was answered ahead is not asked again.

        Args:
            op: What they are to do.
            round: Of the work.
            tasks: A client and its message each.

        Yields:
            An answer a client; a client that is away has no scores this time.
        """
        assert op != "views"  # a model stays on its node
        answers: list[tuple[TaskResult, Base]] = []
        open_tasks: list[Task] = []
        tasks = list(tasks)
        self.survivors.agree(op, round, (task.client for task in tasks))
        for task in tasks:
            if self._idle(op, round, task.client):
                answers.append((TaskResult(task.client, error=NOT_A_SURVIVOR), Base()))
                continue
            waiting = self._ahead.pop((task.client, op, round), None)
            if waiting is not None and waiting[0] == _sha(task.message):
                answers.append(waiting[1:])
            else:
                open_tasks.append(task)
        if open_tasks:
            answers += self._send(op, round, open_tasks)
        for answer, own in answers:
            if answer.error is None and own.digest:
                self._seen[answer.client] = own.digest
                if op in CHANGING:
                    self.own[answer.client] = own
                    self._changed.add(answer.client)
            if op in EVALUATIONS and self.survivors.left_out(op, round, answer.client):
                answer = TaskResult(answer.client, error=NOT_A_SURVIVOR)
            if op in EVALUATIONS and answer.error is None and not self._usual(answer):
                answer = TaskResult(
                    answer.client, error=f"it has named more than {NAMES} models and notes"
                )
            if op not in EVALUATIONS or answer.error is None:
                yield answer
            else:  # a client that is away has no scores this time; the others have
                reasons = self._unscored.setdefault(answer.client, Counter())
                known = answer.error in reasons or len(reasons) < REASONS
                reasons[answer.error if known else OTHERS] += 1

    def sums(self, clients: Iterable[int]) -> list[ExactSum]:
        """None: every node sends its message.

        Args:
            clients: None, for no node holds one.

        Returns:
            [], always.
        """
        return []

    def save(self, folder: Path, round: int) -> list[int]:
        """Write a receipt for each client whose state changed since the last call.

        Args:
            folder: Of the checkpoint.
            round: Of the commit.

        Returns:
            Numbers of those clients.
        """
        changed = sorted(self._changed)
        for client in changed:
            own = self.own[client]
            digest = torch.frombuffer(bytearray.fromhex(own.digest), dtype=torch.uint8)
            receipt = encode({"round": own.round, "digest": digest})
            write_file(folder / checkpoint.name(client, round), receipt)
        self._changed.clear()
        # what is saved now is committed only after this call: until the next one, nodes keep what
        # was committed before, and so does the list of survivors
        self.survivors.forget(self._saved_round)
        self._saved_round = round
        self._committed, self._saved = (
            self._saved,
            {client: own.round for client, own in self.own.items()},
        )
        return changed

    def load(self, states: Mapping[int, Path]) -> None:
        """Take the receipts of a checkpoint for what nodes have.

        Args:
            states: {client: the file of its receipt}.
        """
        for client, path in states.items():
            receipt: Any = read_state(path)
            self.own[client] = Base(
                round=receipt["round"], digest=bytes(receipt["digest"].tolist()).hex()
            )
        self._seen.update({client: self.own[client].digest for client in states})
        self._committed = self._saved = {client: own.round for client, own in self.own.items()}

    def digests(self, clients: Iterable[int]) -> dict[int, str]:
        """What clients last said of their states.

        Args:
            clients: Their numbers.

        Returns:
            {client: sha256}; "" of one that has none.
        """
        return {client: self._seen.get(client, "") for client in clients}

    def remarks(self) -> list[str]:
        """What the operator should know: of clients that were not evaluated, and of clocks.

        Returns:
            Each sentence once.
        """
        remarks = set(self.dispatcher.remarks)
        for client, reasons in self._unscored.items():
            for reason, times in reasons.items():
                more = f" ({times} times)" if times > 1 else ""
                remarks.add(f"{self.places[client][0]} was not evaluated: {reason}{more}")
        return sorted(remarks)

    def close(self) -> None:
        """Nothing: nodes go on."""

    def _send(
        self, op: RemoteOp, round: int, tasks: Sequence[Task]
    ) -> list[tuple[TaskResult, Base]]:
        after = self.then(round) if op == EVALUATIONS[0] else []
        following = [(do, at, set(who)) for do, at, who in after]
        steps = {
            task.client: (
                (op, round),
                *(
                    (do, at)
                    for do, at, who in following
                    if task.client in who and not self._idle(do, at, task.client)
                ),
            )
            for task in tasks
        }
        requests = {}
        for task in tasks:
            name, place = self.places[task.client]
            todo = steps[task.client]
            request = self.dispatcher.request(
                name,
                place=place,
                base=self.own[task.client],
                keep=self._committed.get(task.client, 0),
                steps=tuple(RemoteStep(op=do, round=at, trained=task.trained) for do, at in todo),
            )
            requests[name] = request, task.message
        replies = self.dispatcher.exchange(requests, enough=self._enough(steps))
        first_answers = []
        for task in tasks:
            reply = replies[self.places[task.client][0]]
            answers = answers_of(task.client, steps[task.client], reply)
            if self.places[task.client][0] not in self.dispatcher.reached:
                answers = [(answer._replace(reached=False), own) for answer, own in answers]
            first_answers.append(answers[0])
            for (do, at), (answer, own) in list(zip(steps[task.client], answers))[1:]:
                self._ahead[task.client, do, at] = _sha(task.message), answer, own
        return first_answers

    def _usual(self, answer: TaskResult) -> bool:
        """Whether a client's evaluations go on being of as many models and notes as one may have: a
        record takes a name for each, and with new ones every round it would grow without end.
        """
        record, known = answer.record, self._names.setdefault(answer.client, set())
        names = {*known, *record.scores, *record.measures, *record.notes}
        if len(names) > NAMES:
            return False
        known |= names
        return True

    def _idle(self, op: RemoteOp, round: int, client: int) -> bool:
        """Whether a client's work, or keys for its scores, would count for nothing."""
        return op in (WORK, OPENING) and self.survivors.left_out(op, round, client)

    def _enough(
        self, steps: Mapping[int, Sequence[tuple[RemoteOp, int]]]
    ) -> Callable[[Collection[str]], bool]:
        """Whether those who replied are so many that the run can go on with each of the ops."""
        asked: dict[tuple[RemoteOp, int], set[str]] = {}
        for client, todo in steps.items():
            for step in todo:
                asked.setdefault(step, set()).add(self.places[client][0])

        def enough(replied: Collection[str]) -> bool:
            return all(
                len(names.intersection(replied)) >= min(self.needed(*step), len(names))
                for step, names in asked.items()
            )

        return enough


def answers_of(
    client: int, steps: Sequence[tuple[RemoteOp, int]], reply: tuple[NodeReply, list[bytes]] | str
) -> list[tuple[TaskResult, Base]]:
    """One answer a step, in order, with the personal state that it left.

    Args:
        client: Its number.
        steps: (op, round) that were asked.
        reply: What came, or why nothing did.

    Returns:
        (answer, state) a step.
    """
    if isinstance(reply, str):
        return [(TaskResult(client, error=reply), Base()) for _ in steps]
    blobs = iter(reply[1])
    return [
        (_answer(client, done, next(blobs) if done.message else None), done.own)
        for done in reply[0].steps
    ]


def _answer(client: int, done: Done, message: bytes | None) -> TaskResult:
    if (
        done.op in EVALUATIONS
        and done.error is None
        and message is None  # under masks it says public keys in their place
        and set(SCORED) - set(done.scores.get("personal", {}))
    ):
        return TaskResult(client, error="its reply has no scores of its personal model")
    record = Evaluation(**done.model_dump(include=set(Evaluation._fields)))
    return TaskResult(
        client,
        message,
        done.weight,
        done.error,
        record,
        done.seconds,
        version=done.round - 1,
    )


def _sha(message: bytes | None) -> str:
    return hashlib.sha256(message or b"").hexdigest()
