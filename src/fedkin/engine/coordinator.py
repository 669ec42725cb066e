"""The coordinator owns the server state. Who does what in a round, its schedule decides.

A round: participants → broadcast → [transport] → update → evaluate → record.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.aggregation import Mean, Reply
from fedkin.core.errors import FedkinError, some
from fedkin.core.method import Method, ServerContext, updated
from fedkin.core.rng import Key
from fedkin.core.tree import Tree
from fedkin.engine.codec import decode, encode
from fedkin.engine.contexts import ServerTools
from fedkin.engine.masked_round import (
    MaskedRound,
    digest_of_sent,
    of_evaluation,
    of_updates,
    scored,
)
from fedkin.engine.masked_scores import Means
from fedkin.engine.mutation_guard import MutationGuard
from fedkin.engine.op import Op, Task, TaskResult
from fedkin.engine.round.broadcasts import Broadcasts, reaching, withdraw_tasks
from fedkin.engine.round.divergence import check_losses, diverged
from fedkin.engine.round.federation import Federation
from fedkin.engine.round.progress import RoundProgress
from fedkin.engine.round.replies import Receiver
from fedkin.engine.round.schedule import Scheduling, synchronous
from fedkin.engine.round.summed_kinds import check_summed
from fedkin.engine.server_guard import NotFinite, check_finite, guarded
from fedkin.engine.transports.base import Transport, one_thread
from fedkin.masks.wire import NoSum
from fedkin.runs.record import NOT_SCORED, Record, Sent
from fedkin.runtime.progress import tracked_stream

STATE = "the server's state"  # as messages call it
MOST_WITHOUT_SUM = 3  # rounds under masks, one after the other, in which somebody lied


class Coordinator:
    """Runs a method's server side over a transport. ``state`` is the server state S.

    Args:
        method: What is run.
        federation: Who takes part, and how.
        transport: Reaches the clients.
        aside: A folder for a round's messages, where they shall not all be in memory; None: they
            are.
        scheduling: Makes the run's schedule.
    """

    def __init__(
        self,
        method: Method,
        federation: Federation,
        transport: Transport,
        aside: Path | None = None,
        scheduling: Scheduling = synchronous,
    ) -> None:
        self.method, self.federation, self.transport = method, federation, transport
        self.schedule = scheduling(method, federation)
        self.state: Tree = method.server(federation.start)
        self._broadcasts = Broadcasts(method.broadcast)
        self._without_sum: list[set[int]] = []  # who was in the last rounds that came to nothing
        self._sum_is_sent = False  # once a round has shown it
        self._receiver = Receiver(
            method, federation, transport, aside, self.schedule.replies_needed
        )

    def setup(self) -> Record:
        """Before the first round: the introductions, where a method has them.

        Returns:
            What happened, as round 0.
        """
        method, began = self.method, time.perf_counter()
        participants = self.schedule.introduced()
        course = RoundProgress(0, "setup", participants, began=began)
        if participants and method.setup_update is not None:
            tasks = [Task(client, None) for client in participants]
            answers = self.transport.ask("introduce", 0, tasks)
            replies = self._receiver.usable(answers, self._expected_setup, course)
            self._update(method.setup_update, replies, course)
        course.end("local")
        return self._record(course, _Evaluated())

    def round(self, number: int, last: bool = False) -> Record:
        """One communication round.

        Args:
            number: From 1.
            last: Whether it is the last one.

        Returns:
            What run.db keeps of the round.
        """
        method, infos = self.method, self.federation.infos
        began = time.perf_counter()
        participants = self.schedule.participants(number)
        course = RoundProgress(number, "round", participants, began=began)
        tasks, messages = self._broadcasts.tasks(self.state, participants, course.sent)
        if participants and not self._sum_is_sent:
            first = participants[0]
            check_summed(method, method.expected_update(messages[first], infos[first]))
            self._sum_is_sent = True
        lost: set[int] = set()
        answers = reaching(self.transport.ask("local", number, tasks), lost)
        masked = self._masked(number, tasks, messages)
        if masked is not None:
            mean = self._mean(masked, answers, number)
            course.end("local")
            if mean is not None:
                self._update_by(mean, number)
            course.missing.update(masked.missing)
        else:
            replies = self._receiver.usable(
                answers,
                lambda client: method.expected_update(messages[client], infos[client]),
                course,
            )
            course.end("local")
            self._update(partial(updated, method), replies, course)
        withdraw_tasks(course.sent, tasks, lost)
        course.end("server")
        # Under masks the finish alone evaluates the last round's models, unless patience ends the
        # run: two sums of one model's scores, of which a client is in one, would tell what it has.
        asked = [] if last and masked is not None else self.schedule.evaluated(number, last)
        record = self._record(course, self._evaluated(course, "evaluate", asked))
        return record if masked is None else record._replace(sent=[*record.sent, *masked.sent])

    def _masked(
        self, number: int, tasks: Sequence[Task], messages: Mapping[int, Tree]
    ) -> MaskedRound | None:
        """The round's messages under masks, where the experiment asks for them."""
        method, infos = self.method, self.federation.infos
        threshold, verify = self.federation.threshold, self.federation.verify
        if threshold is None:
            return None
        expected = {k: method.expected_update(down, infos[k]) for k, down in messages.items()}
        sent = digest_of_sent(tasks, verify)
        return of_updates(method, infos, threshold, number, expected, verify, sent)

    def _mean(self, masked: MaskedRound, answers: Iterable[TaskResult], number: int) -> Mean | None:
        """The mean of a round under masks; None where a client lied, so that there is none: nobody
        is in it then, and the server's state stays as it was. After a few such rounds the run ends.
        """
        try:
            mean = masked.mean(self.transport, answers)
        except NoSum as error:
            self._without_sum.append(set(masked.weights) - set(masked.missing))
            if len(self._without_sum) == MOST_WITHOUT_SUM:
                always = sorted(set.intersection(*self._without_sum))
                who = some(map(self.federation.named, always), 20)
                among = f", with {who} in all of them" if always else ""
                raise FedkinError(
                    f"{error}. So it was in {MOST_WITHOUT_SUM} rounds one after the other{among}"
                ) from None
            masked.missing = {**dict.fromkeys(masked.weights, str(error)), **masked.missing}
            return None
        self._without_sum.clear()
        if len(mean.clients) < self.schedule.replies_needed(number):
            self._receiver.too_few(len(mean.clients), masked.missing, number)
        return mean

    def _update_by(self, mean: Mean, number: int) -> None:
        """The server's update by a mean of messages that nobody can look at one by one."""
        before = MutationGuard(self.state)
        with one_thread():
            after = self.method.server_update(before.handed(), mean, self._tools(number))
        before.check(self.method.name, STATE)
        try:
            check_finite(after, self.state)
        except NotFinite as error:
            raise FedkinError(diverged(number, str(error), self.method)) from None
        self.state = after

    def finish(self, number: int, trained: int | None = None) -> Record:
        """After the last round: every client's ``finalize`` (its message is the last one down), and
        the evaluation of whom the last round evaluates.

        Args:
            number: One more than the last planned round's.
            trained: The last round that trained, where training ended earlier: the finish has the
                learning rate of the round after it.

        Returns:
            What run.db keeps of it.
        """
        everyone = sorted(self.federation.infos)
        course = RoundProgress(number, "finish", everyone)
        sent, missing = course.sent, course.missing
        if self.method.finalize is not None:
            tasks, _ = self._broadcasts.tasks(self.state, everyone, sent)
            tasks, lost = _after(tasks, number, trained), set[int]()
            answers = reaching(self.transport.ask("finish", number, tasks), lost)
            for answer in tracked_stream("finishing clients", answers, len(tasks)):
                if answer.error is not None:
                    missing[answer.client] = answer.error
            withdraw_tasks(sent, tasks, lost)
        course.end("local")
        asked = self.schedule.evaluated(number - 1, True)
        return self._record(course, self._evaluated(course, "evaluate_all", asked, trained))

    def views(self, client: int, number: int, trained: int | None = None) -> dict[str, Tree]:
        """What a client would deploy after round ``number``: {view: parameters, or what the method
        predicts with}.

        Args:
            client: Its number.
            number: A round that is over.
            trained: As in ``finish``.

        Returns:
            At least "personal".

        Raises:
            FedkinError: The client's host has no model to show.
        """
        tasks, _ = self._broadcasts.tasks(self.state, [client], [])
        (answer,) = self.transport.ask("views", number, _after(tasks, number, trained))
        if answer.message is None:
            raise FedkinError(
                f"{self.federation.named(client)} has no model to show: {answer.error}"
            )
        decoded: dict[str, Tree] = decode(answer.message)
        return decoded

    def fingerprint(self) -> str:
        """sha256 over the server state and all personal states, in client order.

        Returns:
            64 hexadecimal digits; equal for equal bits.
        """
        whole = hashlib.sha256(encode(self.state))
        for client, digest in sorted(self.transport.digests(self.federation.infos).items()):
            whole.update(f"{client}:{digest}".encode())
        return whole.hexdigest()

    def _tools(self, number: int) -> ServerTools:
        return replace(self.federation.tools, key=Key(self.federation.seed, number))

    def _expected_setup(self, client: int) -> Tree:
        assert self.method.expected_setup is not None
        return self.method.expected_setup(self.state, self.federation.infos[client])

    def _update(
        self,
        update: Callable[[Tree, Mapping[int, Reply], ServerContext], Tree],
        replies: Mapping[int, Reply],
        course: RoundProgress,
    ) -> None:
        """The server's update; whoever breaks it is left out, and noted with the reason."""
        number = course.number
        tools, least = self._tools(number), self.schedule.replies_needed(number)
        before = MutationGuard(self.state)
        with one_thread():
            try:
                updated = guarded(
                    lambda usable: update(before.handed(), usable, tools),
                    self.state,
                    replies,
                    least,
                )
            except NotFinite as error:
                raise FedkinError(diverged(number, str(error), self.method)) from None
        before.check(self.method.name, STATE)
        self.state = updated.state
        course.missing.update(updated.left_out)

    def _evaluated(
        self,
        course: RoundProgress,
        evaluate: Op,
        clients: Sequence[int],
        trained: int | None = None,
    ) -> "_Evaluated":
        """What an evaluation of some clients after a round comes to."""
        if not clients:
            return _Evaluated()
        number = course.number
        tasks, _ = self._broadcasts.tasks(self.state, clients, [])
        answers = self.transport.ask(evaluate, number, _after(tasks, number, trained))
        if self.federation.scoring is None:
            return self._scored(number, answers)
        means, masked = self._masked_scores(number, tasks, answers)
        unscored = {k: f"{NOT_SCORED}{why}" for k, why in masked.missing.items()}
        return _Evaluated(means.scores, {}, means.measures, means.counted, masked.sent, unscored)

    def _record(self, course: RoundProgress, evaluated: "_Evaluated") -> Record:
        """The record of a round that is over, with the evaluation after it."""
        course.end("evaluation")
        missing = course.missing
        sent = [
            item for item in course.sent if item.direction == "down" or item.client not in missing
        ]
        return Record(
            round=course.number,
            phase=course.phase,
            participants=course.participants,
            sent=[*sent, *evaluated.sent],
            missing={**evaluated.unscored, **missing},
            scores=evaluated.scores,
            notes=evaluated.notes,
            server_metrics=_of(course.participants, self.method.server_metrics(self.state)),
            seconds={**course.seconds, "total": sum(course.seconds.values())},
            measures=evaluated.measures,
            moved=self._receiver.moved(),
            counted=evaluated.counted,
        )

    def _scored(self, number: int, answers: Iterable[TaskResult]) -> "_Evaluated":
        """What each client tells of itself."""
        evaluated = _Evaluated({}, {}, {})
        for answer in answers:
            if answer.error is not None:
                name = self.federation.named(answer.client)
                raise FedkinError(f"round {number}: {name} cannot be evaluated: {answer.error}")
            evaluated.scores[answer.client] = answer.record.scores
            evaluated.notes[answer.client] = dict(answer.record.notes)
            evaluated.measures[answer.client] = dict(answer.record.measures)
        check_losses(number, evaluated.scores, self.method, self.federation.unscored)
        return evaluated

    def _masked_scores(
        self, number: int, tasks: Sequence[Task], answers: Iterable[TaskResult]
    ) -> tuple[Means, MaskedRound]:
        """The federation's scores under masks, and the round that made them; none where a client
        lied. Nobody knows who it was, and no node takes masks off twice: it is not asked again.
        """
        assert self.federation.scoring is not None
        threshold, verify = self.federation.scoring(number), self.federation.verify
        asked, sent = [task.client for task in tasks], digest_of_sent(tasks, verify)
        masked = of_evaluation(asked, threshold, number, verify, sent)
        try:
            means = scored(masked, self.transport, answers)
        except NoSum as error:
            masked.missing = {**dict.fromkeys(asked, str(error)), **masked.missing}
            return Means({}, {}, {}, True), masked
        if not means.some_loss:  # where too few clients have one for a sum, none is in the scores
            check_losses(number, means.scores, self.method)
        return means, masked


class _Evaluated(NamedTuple):
    """What a record says of an evaluation: the fields of ``Record`` of these names, and what is
    added to its ``sent`` and ``missing``.
    """

    scores: dict[int, dict[str, dict[str, tuple[float, float]]]] = {}  # noqa: RUF012 (read only)
    notes: dict[int, dict[str, Any]] = {}  # noqa: RUF012 (read only)
    measures: dict[int, dict[str, dict[str, dict[str, float]]]] = {}  # noqa: RUF012 (read only)
    counted: dict[str, dict[str, tuple[int, int]]] = {}  # noqa: RUF012 (read only)
    sent: Sequence[Sent] = ()  # under masks
    unscored: Mapping[int, str] = {}  # client → why


def _after(tasks: list[Task], number: int, trained: int | None) -> list[Task]:
    """Tasks of work that follows the last round that trained, where another was planned before
    it.
    """
    if trained is None or trained == number - 1:
        return tasks
    return [task._replace(trained=trained) for task in tasks]


def _of(who: Sequence[int], by_name: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[int, Any]]:
    """What the server tells of a round's participants, and of the federation (-1): with everybody's
    a record grows with the clients of the whole federation, however few take part.
    """
    kept = {*who, -1}
    return {name: {k: v for k, v in by.items() if k in kept} for name, by in by_name.items()}
