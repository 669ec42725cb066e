"""The steps of one request on a node: from one personal state to the next, each done once however
often it is asked.
"""

import hashlib
import hmac
import sys
from collections.abc import Callable
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret
from fedkin.data.population import SPLITS
from fedkin.engine.codec import decode, encode
from fedkin.engine.evaluation import Evaluation
from fedkin.engine.host import Host
from fedkin.engine.op import CHANGING, LAST, SCORE_STAGES, WORK, Task, TaskResult
from fedkin.engine.store import Memory
from fedkin.flower.envelope import Base, Done, RemoteStep, Request
from fedkin.flower.node.request_log import RequestLog
from fedkin.flower.node.secret import for_content
from fedkin.flower.node.store import MODEL, Commit, Damaged, NodeStore, skipped
from fedkin.masks.signatures import broadcast_digest

NO_STATE = encode({})  # of a method without any, and so of no data


class Work:
    """The steps of one request, from one personal state to the next.

    Args:
        host: Does the work.
        node_store: The commits of the client in this run.
        request: What is asked; it has a place.
        message: What came with it; None: nothing.
        about: What is kept beside the run's model.
        asked: What was asked of the client before.
        secret: Where its noise comes from; None: it adds none.
        states_key: What digests of personal states are keyed with; empty: they are plain.
    """

    def __init__(
        self,
        host: Host,
        node_store: NodeStore,
        request: Request,
        message: bytes | None,
        about: Callable[[], dict[str, Any]],
        asked: RequestLog,
        secret: Secret | None = None,
        states_key: bytes = b"",
    ) -> None:
        assert request.place is not None
        self.host, self.node_store, self.request, self.message = host, node_store, request, message
        self.place, self.about = request.place, about
        self.client = request.place.client
        self.asked, self.secret, self._states_key = asked, secret, states_key
        self.own = self._start(request.base)

    def all(self) -> tuple[list[Done], list[bytes]]:
        """What became of each step, and the messages that go back.

        Returns:
            (what became of each step, byte strings of the steps that have a message).
        """
        done: list[Done] = []
        sent: list[bytes] = []
        for step in self.request.steps:
            answer = self._again(step) or self._anew(step)
            done.append(
                Done(
                    op=step.op,
                    round=step.round,
                    weight=answer.weight,
                    error=answer.error,
                    seconds=answer.seconds,
                    message=answer.message is not None,
                    own=self.own,
                    **answer.record._asdict(),
                )
            )
            if answer.message is not None:
                sent.append(answer.message)
        if not self.asked.done:
            self.node_store.forget(self.request.keep)
        if self._is_over(done):
            self.asked.finish()
        return done, sent

    def _is_over(self, done: list[Done]) -> bool:
        """Whether this was the last thing that a client of the run is asked; a newcomer may be
        asked again.
        """
        last, final = done[-1], LAST if self.host.masking is None else SCORE_STAGES[-1]
        over = last.round > self.host.schedule.rounds
        fine = self.place.joined is None and last.op == final and over and last.error is None
        return fine and self.node_store.find(MODEL) is not None

    def _start(self, base: Base) -> Base:
        """Take the state that the server last heard of: work whose reply got lost never
        happened.
        """
        self.host.store = Memory()
        if base.round:
            commit = self._commit_of(base)
            if commit is None:
                raise FedkinError(
                    f"its personal state of round {base.round} is not on this node any more"
                )
            self._take(commit.state)
        digest = self._digest()
        if base.digest and base.digest != digest:
            raise FedkinError(
                f"its personal state of round {base.round} is not the one that the federation knows"
            )
        return Base(round=base.round, digest=digest)

    def _commit_of(self, base: Base) -> Commit | None:
        """The commit of a round that left this state: the round may have been done with several
        messages. Where none did, any of them.
        """
        return self.node_store.find(
            base.round, lambda commit: self._named(commit.state) == base.digest
        ) or self.node_store.find(base.round)

    def _take(self, state: bytes) -> None:
        self.host.store.put(self.client, decode(state))

    def _again(self, step: RemoteStep) -> TaskResult | None:
        """The answer of work that was done before, on an earlier copy of this request. Where what
        was kept of it is damaged, the work is done again, from the same state.
        """
        if step.op not in CHANGING:
            return None
        key = self._key(step)
        try:
            commit = self.node_store.find(step.round, lambda commit: commit.key == key)
        except Damaged as error:
            skipped(error)
            return None
        if commit is None:
            return None
        self._take(commit.state)
        self.own = Base(round=step.round, digest=self._digest())
        message, weight = commit.message, commit.details["weight"]
        if self.host.masking is not None and step.op == WORK and message is not None:
            # with other keys: who was cut off between two stages begins the first one again
            update = decode(message)
            sent_digest = broadcast_digest(self.message)
            message = self.host.masking.begin(step.round, self.client, update, weight, sent_digest)
        return TaskResult(self.client, message, weight, seconds=commit.details["seconds"])

    def _anew(self, step: RemoteStep) -> TaskResult:
        self.host.secret = for_content(self.secret, self._content(step))
        (answer,) = self.host.do(step.op, step.round, [self._task(step)])
        if step.op in CHANGING and answer.error is None:
            state = encode(self.host.personal_state(self.client))
            took_part = [*self._took_part(), *([step.round] if step.op == WORK else [])]
            details = {"weight": answer.weight, "seconds": answer.seconds, "took_part": took_part}
            kept = self._update_of(step, answer)
            self.node_store.put(step.round, Commit(self._key(step), state, kept, details))
            self.own = Base(round=step.round, digest=self._named(state))
        if step.op == LAST and answer.error is None and not self.asked.done:
            try:
                self._keep_model(step, self._record_of(answer))
            except FedkinError as error:  # its scores are worth having all the same
                print(f"the model of this run is not kept for export: {error}", file=sys.stderr)
        return answer

    def _task(self, step: RemoteStep) -> Task:
        return Task(self.client, self.message, step.trained)

    def _update_of(self, step: RemoteStep, answer: TaskResult) -> bytes | None:
        """What a commit keeps of an answer: under masks the update itself, which stays here."""
        if self.host.masking is None or step.op != WORK:
            return answer.message
        waiting = self.host.masking.waiting(self.client)
        return None if waiting is None else encode(waiting.message)

    def _record_of(self, answer: TaskResult) -> Evaluation:
        """An evaluation's scores and notes, which under masks stay here."""
        if self.host.masking is None:
            return answer.record
        waiting = self.host.masking.waiting(self.client, SCORE_STAGES[-1])
        return Evaluation() if waiting is None else waiting.record

    def _keep_model(self, step: RemoteStep, record: Evaluation) -> None:
        """What the client would deploy, whatever its method makes it of: nobody has to be asked for
        it any more.
        """
        (shown,) = self.host.do("views", step.round, [self._task(step)])
        if shown.message is None:
            raise FedkinError(str(shown.error))
        sizes = {split: len(self.host.population.rows(split)[self.client]) for split in SPLITS}
        details = {
            **self.about(),
            **record._asdict(),
            "place": self.place.model_dump(),
            "round": step.round,
            "trained": self._trained(step),
            "again": self.asked.again(),
            "took_part": None if self.place.joined is not None else len(self._took_part()),
            "samples": sizes,
        }
        personal = encode(decode(shown.message)["personal"])
        self.node_store.put(MODEL, Commit(self.request.experiment, personal, None, details))

    def _took_part(self) -> list[int]:
        """The rounds whose work is in the client's state, as the federation knows it."""
        commit = self._commit_of(self.own) if self.own.round else None
        # one of before this was kept does not say
        return [] if commit is None else list(commit.details.get("took_part", []))

    def _trained(self, step: RemoteStep) -> int | None:
        """How many rounds the client was trained in; a newcomer came after them."""
        if self.place.joined is not None:
            return None
        return step.round - 1 if step.trained is None else step.trained

    def _key(self, step: RemoteStep) -> str:
        return self._digest_of(step, step.op)

    def _content(self, step: RemoteStep) -> str:
        """What a step is made of, whatever is done with it: what is deployed at the end has the
        noise of what was evaluated.
        """
        return self._digest_of(step, self.request.experiment)

    def _digest_of(self, step: RemoteStep, of: str) -> str:
        base = self.own
        whole = hashlib.sha256(
            f"{of} {step.round} {base.round} {base.digest} {self.place}".encode()
        )
        whole.update(self.message or b"")
        return whole.hexdigest()

    def _digest(self) -> str:
        return self._named(encode(self.host.personal_state(self.client)))

    def _named(self, state: bytes) -> str:
        """What the server knows a personal state by, of the bytes that it is kept as."""
        if self._states_key and state != NO_STATE:
            return hmac.digest(self._states_key, state, "sha256").hex()
        return hashlib.sha256(state).hexdigest()
