"""A personal model for a client that was not in the run: nobody else works, and the server's state
stands still.
"""

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, Method
from fedkin.core.rng import Key
from fedkin.core.tree import Tree
from fedkin.engine.acceptance import accepted
from fedkin.engine.codec import BadMessage, count, decode, encode
from fedkin.engine.contexts import ServerTools
from fedkin.engine.host import Host
from fedkin.engine.method_calls.server_errors import FailedAtServer
from fedkin.engine.op import CHANGING, LAST, WORK, RemoteOp, Task, TaskResult
from fedkin.engine.store import Memory
from fedkin.engine.transports.base import one_thread
from fedkin.runs.record import Sent
from fedkin.runtime.progress import tracked

PATIENCE = 5  # rounds without a lower loss, after which no further one is tried


class Ask(NamedTuple):
    """What a newcomer is asked: steps (op, round), one after the other, with one message."""

    place: int
    base: int  # the round whose work left the personal state that it begins with; 0: its first one
    keep: int  # states of rounds before this one are not asked for again
    steps: tuple[tuple[RemoteOp, int], ...]
    message: bytes


class Newcomer(Protocol):
    """The newcomer, from where its server stands. In every place it begins anew."""

    def ask(self, ask: Ask) -> list[TaskResult]:
        """One answer a step, in order.

        Args:
            ask: What it is asked.

        Returns:
            One answer a step.
        """


class Standing(NamedTuple):
    """The server's side of a run that stands still after ``round``, and what it knows of the
    newcomer.
    """

    method: Method
    state: Tree
    round: int
    tools: ServerTools
    seed: int
    info: ClientInfo  # its client is the first free number
    validates: bool  # the newcomer has validation data


class Trial(NamedTuple):
    """A place after so many rounds."""

    place: int
    rounds: int
    state: Tree
    loss: float


class Joined(NamedTuple):
    """What came of it.

    ``last``: what the newcomer was asked last; its state afterwards is its personal one.
    """

    place: int
    places: int
    rounds: int
    chosen: str  # what chose place and rounds: "validation", "training", or "given"
    scores: dict[str, dict[str, tuple[float, float]]]
    # RMSE, AUC and the like: {view: {split: {name: value}}}
    measures: dict[str, dict[str, dict[str, float]]]
    notes: dict[str, Any]
    sent: list[Sent]
    seconds: float
    last: Ask


def join(server: Standing, newcomer: Newcomer, rounds: int | None, most: int) -> Joined:
    """Let the newcomer work in every place, then finish in the best one. Of places, and where there
    are no validation data, the loss on its training data decides, after all rounds. Test data have
    no say.

    Args:
        server: The run, as it stands.
        newcomer: Who computes on its own data, here or elsewhere.
        rounds: How many in each place, 0 or more; None: after how many its validation loss is
            least.
        most: The most rounds that are tried.

    Returns:
        What came of it, with the newcomer's scores.

    Raises:
        FedkinError: The method has no place for it, nothing has been learned yet, or it cannot
            work.
    """
    began = time.perf_counter()
    sent: list[Sent] = []
    if server.round < 1:
        raise FedkinError(
            "nothing has been learned yet that a newcomer could join: wait for the first round"
        )
    exact = rounds  # None: as many as validation data choose
    if rounds is None and not server.validates:
        exact = most
    places = placements_of(server)
    best: Trial | None = None
    for place, state in enumerate(places):
        trial = _stay(server, newcomer, Trial(place, 0, state, math.inf), exact, most, sent)
        best = trial if best is None or trial.loss < best.loss else best
    assert best is not None
    if not math.isfinite(best.loss):
        raise FedkinError("the newcomer's loss is not finite anywhere: lower train.lr")
    chosen = "validation" if server.validates else "training"
    if rounds is not None and len(places) == 1:
        chosen = "given"
    last, seen = _finish(server, newcomer, best, sent)
    record, client = seen.record, server.info.client
    first_notes = {
        name: of[client]
        for name, of in server.method.server_metrics(best.state).items()
        if client in of
    }
    notes, seconds = {**first_notes, **record.notes}, time.perf_counter() - began
    return Joined(
        place=best.place,
        places=len(places),
        rounds=best.rounds,
        chosen=chosen,
        scores=record.scores,
        measures=record.measures,
        notes=notes,
        sent=sent,
        seconds=seconds,
        last=last,
    )


def _finish(
    server: Standing, newcomer: Newcomer, best: Trial, sent: list[Sent]
) -> tuple[Ask, TaskResult]:
    """What every client does after the last round, from the best moment on, and the scores
    afterwards.
    """
    at = server.round + best.rounds
    base = at if best.rounds else 0
    finish: list[tuple[RemoteOp, int]] = (
        [("finish", at + 1)] if server.method.finalize is not None else []
    )
    message = _sealed(server, server.method.broadcast(best.state, server.info.client), sent)
    last = Ask(best.place, base, base, (*finish, (LAST, at + 1)), message)
    return last, _answers(newcomer, last)[-1]


def placements_of(server: Standing) -> tuple[Tree, ...]:
    """The server's state with a place for the newcomer, once for every place that it may take.

    Args:
        server: The run, as it stands.

    Returns:
        At least one state.

    Raises:
        FedkinError: The method has no place for a client that was not in the run.
    """
    method, client = server.method, server.info.client
    try:
        places = method.newcomer_placements(server.state, client, server.info)
        for state in places:
            method.broadcast(state, client)
    except (LookupError, TypeError, ValueError, RuntimeError, FailedAtServer) as error:
        reason = f" ({error})" if isinstance(error, FailedAtServer) else ""
        raise FedkinError(
            f"{method.name} has no place for a client that was not in the run: its "
            f"`newcomer_placements` would have to make one{reason}"
        ) from None
    return places


def _stay(
    server: Standing,
    newcomer: Newcomer,
    first: Trial,
    exact: int | None,
    most: int,
    sent: list[Sent],
) -> Trial:
    """The best moment of a place: after ``exact`` rounds, or where the loss is least."""
    method, info = server.method, server.info
    look: RemoteOp = "evaluate" if server.validates else LAST
    split = "val" if server.validates else "train"
    state, best, base = first.state, first, 0
    limit = most if exact is None else exact
    what = f"rounds of the newcomer at place {first.place + 1}, at most"
    for done in tracked(what, range(limit + 1)):
        at = server.round + done
        down = method.broadcast(state, info.client)
        looks = exact is None or done == exact
        works = done < limit
        steps = (*([(look, at)] if looks else []), *([(WORK, at + 1)] if works else []))
        keep = server.round + best.rounds if best.rounds else base
        answers = _answers(
            newcomer, Ask(first.place, base, keep, steps, _sealed(server, down, sent))
        )
        if looks:
            loss = float(answers[0].record.scores["personal"][split][0])
            loss = loss if math.isfinite(loss) else math.inf
            if exact is not None or loss < best.loss or done == 0:
                best = Trial(first.place, done, state, loss)
            if not works:
                break
        reply = _usable(server, down, answers[-1], at + 1, sent)
        if exact is None and done - best.rounds >= PATIENCE:
            break
        base = at + 1
        with one_thread():
            state = method.update_newcomer(
                state, info.client, reply, replace(server.tools, key=Key(server.seed, base))
            )
    return best


def _usable(
    server: Standing, down: Tree, answer: TaskResult, round: int, sent: list[Sent]
) -> Reply:
    """The message of a round's work, which joins what was sent."""
    method, info = server.method, server.info
    try:
        reply = accepted(method, info, answer, method.expected_update(down, info)).reply
    except BadMessage as error:
        raise FedkinError(
            f"the newcomer's message of round {round} is not usable: {error}"
        ) from None
    assert answer.message is not None
    sent.append(Sent(info.client, "up", 0, *count(reply.message, len(answer.message))))
    return reply


def _sealed(server: Standing, down: Tree, sent: list[Sent]) -> bytes:
    blob = encode(down)
    sent.append(Sent(server.info.client, "down", 0, *count(down, len(blob))))
    return blob


def _answers(newcomer: Newcomer, ask: Ask) -> list[TaskResult]:
    answers = newcomer.ask(ask)
    for answer in answers:
        if answer.error is not None:
            raise FedkinError(f"the newcomer could not do its part: {answer.error}")
    return answers


class LocalNewcomer:
    """A newcomer in this process: a host with one client.

    Args:
        host: It has the newcomer alone.
        client: The newcomer's number.
    """

    def __init__(self, host: Host, client: int) -> None:
        self.host, self.client = host, client
        self._states: dict[tuple[int, int], Tree] = {}

    def ask(self, ask: Ask) -> list[TaskResult]:
        """Its work, step by step; states that may be asked for again are kept.

        Args:
            ask: What it is asked.

        Returns:
            One answer a step, in order.
        """
        self._take(ask.place, ask.base)
        self._states = {
            k: state for k, state in self._states.items() if k[0] != ask.place or k[1] >= ask.keep
        }
        answers: list[TaskResult] = []
        with one_thread():
            for op, round in ask.steps:
                answers += self.host.do(op, round, [Task(self.client, ask.message)])
                if op in CHANGING and answers[-1].error is None:
                    self._states[ask.place, round] = self.host.personal_state(self.client)
        return answers

    def views(self, last: Ask) -> dict[str, Tree]:
        """What it would deploy after its last work: {view: parameters, or what the method predicts
        with}.

        Args:
            last: What it was asked last.

        Returns:
            {view: parameters, or what the method predicts with}.

        Raises:
            FedkinError: It has no model to show.
        """
        works = [round for op, round in last.steps if op in CHANGING]
        self._take(last.place, works[-1] if works else last.base)
        with one_thread():
            (answer,) = self.host.do("views", last.steps[-1][1], [Task(self.client, last.message)])
        if answer.message is None:
            raise FedkinError(f"the newcomer has no model to show: {answer.error}")
        views: dict[str, Tree] = decode(answer.message)
        return views

    def _take(self, place: int, base: int) -> None:
        self.host.store = Memory()
        if base:
            self.host.store.put(self.client, self._states[place, base])
