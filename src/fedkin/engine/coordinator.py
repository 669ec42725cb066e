"""The coordinator owns the server state.

A round: sample → down → [transport] → merge → evaluate → record.
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fedkin.core.aggregation import Mean, Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, Method, ServerContext, updated
from fedkin.core.rng import Key, Secret
from fedkin.core.sums.exact import ExactSum
from fedkin.core.sums.replies import Elsewhere
from fedkin.core.tree import Tree, named_leaves
from fedkin.engine.acceptance import Accepted, accepted, accepted_held, check_version, far_off
from fedkin.engine.codec import LARGEST, NOT_FINITE, BadMessage, Counted, count, decode, encode
from fedkin.engine.contexts import ServerTools
from fedkin.engine.evaluated import ALL, PARTICIPANTS, panel
from fedkin.engine.host import Task, TaskResult
from fedkin.engine.masked_round import MaskedRound
from fedkin.engine.reply_spool import Spool
from fedkin.engine.server_guard import NotFinite, check_finite, guarded, without
from fedkin.engine.transports.base import Transport, one_thread
from fedkin.masks.signatures import Verify
from fedkin.runs.record import Moved, Record, Sent
from fedkin.runtime.under_way import arriving

DIVERGED = (
    NOT_FINITE,
    f"numbers are at most {LARGEST:g}",
)  # how the reasons end against a model that diverged


class Federation(NamedTuple):
    """Who takes part, and how."""

    start: FederationInit
    infos: Mapping[int, ClientInfo]
    seed: int
    participation: float
    tools: ServerTools
    min_replies: int = 1
    names: tuple[str, ...] = ()  # what the operator calls the clients
    evaluate: str = ALL  # whom an evaluation asks (``fedkin.engine.evaluated``)
    poisson: bool = False  # each client takes part by itself, by a chance that the secret draws
    secret: Secret | None = None  # of a run with noise
    threshold: int | None = None  # of secure aggregation; None: messages arrive as they are
    verify: Verify | None = None  # signatures of masks' keys; None: nobody signs (simulations)

    def named(self, client: int) -> str:
        """A client as whoever runs the experiment knows it.

        Args:
            client: Its number.

        Returns:
            "client hospital A", for messages.
        """
        known = self.names[client] if client < len(self.names) else str(client)
        return f"client {known}"


class Coordinator:
    """Runs a method's server side over a transport. ``state`` is the server state S.

    ``aside``: a folder for a round's messages, where they shall not all be in memory.
    """

    def __init__(
        self,
        method: Method,
        federation: Federation,
        transport: Transport,
        aside: Path | None = None,
    ) -> None:
        self.method, self.federation, self.transport, self.aside = (
            method,
            federation,
            transport,
            aside,
        )
        self.state: Tree = method.server(federation.start)
        self._moved = Moved()

    def setup(self) -> Record:
        """Before the first round: the introductions, where a method has them."""
        method, began = self.method, time.perf_counter()
        who = self._introducing()
        sent: list[Sent] = []
        missing: dict[int, str] = {}
        if who and method.setup_update is not None:
            answers = self.transport.ask("introduce", 0, [Task(client, None) for client in who])
            replies = self._replies(answers, None, sent, missing, 0)
            self._update(method.setup_update, replies, missing, 0)
        return self._record(0, "setup", who, sent, missing, began, {})

    def round(self, number: int, evaluate: bool = True, last: bool = False) -> Record:
        """One communication round; rounds count from 1. ``last``: everybody is asked, no panel.

        Args:
            number: From 1.
            evaluate: Whether clients are asked for loss and accuracy at its end.
            last: Whether it is the last one.

        Returns:
            What run.db keeps of the round.
        """
        began = time.perf_counter()
        who = self.sample(number)
        sent: list[Sent] = []
        missing: dict[int, str] = {}
        orders, downs = self._orders(who, sent)
        answers = self.transport.ask("local", number, orders)
        masked = self._masked(number, downs)
        if masked is not None:
            mean = masked.mean(self.transport, answers)
            if len(mean.clients) < self.federation.min_replies:
                self._too_few(len(mean.clients), masked.missing, number)
            at = {"local": time.perf_counter() - began}
            self._update_by(mean, number)
            missing |= masked.missing
        else:
            replies = self._replies(answers, downs, sent, missing, number)
            at = {"local": time.perf_counter() - began}
            self._update(partial(updated, self.method), replies, missing, number)
        at["server"] = time.perf_counter() - began - at["local"]
        asked = self._asked(who, last) if evaluate else []
        record = self._record(number, "round", who, sent, missing, began, at, "evaluate", asked)
        return record if masked is None else record._replace(sent=[*record.sent, *masked.sent])

    def _masked(self, number: int, downs: Mapping[int, Tree]) -> MaskedRound | None:
        """The round's messages under masks, where the experiment asks for them."""
        method, infos = self.method, self.federation.infos
        threshold, verify = self.federation.threshold, self.federation.verify
        if threshold is None:
            return None
        expected = {one: method.expected_update(down, infos[one]) for one, down in downs.items()}
        return MaskedRound(method, infos, threshold, number, expected, verify)

    def _update_by(self, mean: Mean, number: int) -> None:
        """The server's update by a mean of messages that nobody can look at one by one."""
        with one_thread():
            after = self.method.server_update(self.state, mean, self._tools(number))
        try:
            check_finite(after, self.state)
        except NotFinite as error:
            raise FedkinError(_diverged(number, str(error), self.method)) from None
        self.state = after

    def finish(self, number: int) -> Record:
        """After the last round: every client's ``finish`` (its message is the last one down), and a
        full evaluation: of everybody, or of the last round's participants where rounds evaluate
        those.

        Args:
            number: One more than the last round's.

        Returns:
            What run.db keeps of it.
        """
        began = time.perf_counter()
        everyone = sorted(self.federation.infos)
        sent: list[Sent] = []
        missing: dict[int, str] = {}
        if self.method.finalize is not None:
            orders, _ = self._orders(everyone, sent)
            answers = self.transport.ask("finish", number, orders)
            for answer in arriving("finishing clients", answers, len(orders)):
                if answer.error is not None:
                    missing[answer.client] = answer.error
        at = {"local": time.perf_counter() - began}
        asked = self._asked(self.sample(number - 1), True)
        return self._record(
            number, "finish", everyone, sent, missing, began, at, "evaluate_all", asked
        )

    def _asked(self, who: list[int], last: bool) -> list[int]:
        """Whom an evaluation asks."""
        if self.federation.evaluate == PARTICIPANTS:
            return who
        return sorted(self.federation.infos) if last else self._panel

    @cached_property
    def _panel(self) -> list[int]:
        return panel(self.federation.evaluate, self.federation.infos, self.federation.seed)

    def sample(self, number: int) -> list[int]:
        """Participants of a round.

        Args:
            number: From 1.

        Returns:
            Ascending client numbers.
        """
        return participants(self.method, self.federation, number)

    def views(self, client: int, number: int) -> dict[str, Tree]:
        """What a client would deploy after round ``number``: {view: parameters, or what the method
        predicts with}.

        Args:
            client: Its number.
            number: A round that is over.

        Returns:
            At least "personal".

        Raises:
            FedkinError: The client's host has no model to show.
        """
        (answer,) = self.transport.ask("views", number, self._orders([client], [])[0])
        if answer.message is None:
            raise FedkinError(
                f"{self.federation.named(client)} has no model to show: {answer.error}"
            )
        found: dict[str, Tree] = decode(answer.message)
        return found

    def fingerprint(self) -> str:
        """sha256 over the server state and all personal states, in client order."""
        whole = hashlib.sha256(encode(self.state))
        for client, digest in sorted(self.transport.digests(self.federation.infos).items()):
            whole.update(f"{client}:{digest}".encode())
        return whole.hexdigest()

    def _tools(self, number: int) -> ServerTools:
        return replace(self.federation.tools, key=Key(self.federation.seed, number))

    def _introducing(self) -> list[int]:
        if self.method.needs.introduction == "none":
            return []
        everyone = self.method.needs.introduction == "everyone"
        return sorted(self.federation.infos) if everyone else self.sample(0)

    def _orders(self, who: Sequence[int], sent: list[Sent]) -> tuple[list[Task], dict[int, Tree]]:
        """Each client's message down, equal ones encoded once; the ledger notes which is the first
        copy.
        """
        encoded: dict[Any, tuple[bytes, Counted]] = {}
        seen: dict[int, Any] = {}  # most methods give all their clients the same objects
        orders, downs = [], {}
        for client in who:
            downs[client] = down = self.method.broadcast(self.state, client)
            identity = seen.get(id(down)) or tuple(
                (path, _identity(leaf)) for path, leaf in named_leaves(down)
            )
            copy = int(identity in encoded)
            if not copy:
                blob = encode(down)
                encoded[identity] = blob, count(down, len(blob))
            seen[id(down)] = identity
            blob, size = encoded[identity]
            sent.append(Sent(client, "down", copy, *size))
            orders.append(Task(client, blob))
        return orders, downs

    def _replies(
        self,
        answers: Any,
        downs: dict[int, Tree] | None,
        sent: list[Sent],
        missing: dict[int, str],
        number: int,
    ) -> Mapping[int, Reply]:
        """The messages that can be used, in client order; the others are noted with
        their reason.
        """
        kept: dict[int, Reply] = {}
        largest: dict[int, dict[str, float]] = {}
        spool = None if self.aside is None else Spool(self.aside)
        elsewhere = False
        for answer in answers:
            elsewhere |= answer.held is not None
            try:
                check_version(answer, number - 1)
                reply, largest[answer.client] = self._accept(answer, downs, sent)
                self._moved = self._moved.with_one(len(answer.message or b""))
                if spool is None or answer.held is not None:
                    kept[answer.client] = reply
                else:
                    spool.put(answer.client, answer.message, reply.weight)
            except BadMessage as error:
                missing[answer.client] = str(error)
        # what one client sends must not decide whether another counts, where that is protected
        off = {} if self.federation.poisson else far_off(largest)
        missing |= off
        whole = spool is None or elsewhere
        found: Mapping[int, Reply] = dict(sorted(kept.items())) if whole else spool or {}
        if elsewhere:
            found = Elsewhere(found, self._summed)
        replies = without(found, off) if off else found
        if len(replies) < self.federation.min_replies:
            self._too_few(len(replies), missing, number)
        sent.sort(key=lambda item: (item.direction, item.client))
        return replies

    def _summed(self, clients: Sequence[int]) -> ExactSum:
        """The sum of messages that stayed with their hosts."""
        total = ExactSum()
        for part in self.transport.sums(clients):
            self._moved = self._moved.with_one(part.nbytes)
            total.merge(part)
        return total

    def _too_few(self, usable: int, missing: Mapping[int, str], number: int) -> NoReturn:
        reasons = "; ".join(
            f"{self.federation.named(client)}: {why}" for client, why in sorted(missing.items())[:3]
        )
        if missing and all(why.endswith(DIVERGED) for why in missing.values()):
            raise FedkinError(_diverged(number, f"{NOT_FINITE} in every reply", self.method))
        least = self.federation.min_replies
        raise FedkinError(
            f"round {number}: {usable} usable replies, at least {least} needed. {reasons}"
        )

    def _accept(
        self, answer: TaskResult, downs: dict[int, Tree] | None, sent: list[Sent]
    ) -> Accepted:
        method, info = self.method, self.federation.infos[answer.client]
        if answer.held is not None:
            held = accepted_held(method, info, answer)
            sizes = answer.held["scalars"], answer.held["bytes"]
            sent.append(Sent(answer.client, "up", 0, *sizes))
            return held
        if downs is not None:
            expected = method.expected_update(downs[answer.client], info)
        else:
            assert method.expected_setup is not None
            expected = method.expected_setup(self.state, info)
        found = accepted(method, info, answer, expected)
        assert answer.message is not None
        sent.append(Sent(answer.client, "up", 0, *count(found.reply.message, len(answer.message))))
        return found

    def _update(
        self,
        update: Callable[[Tree, Mapping[int, Reply], ServerContext], Tree],
        replies: Mapping[int, Reply],
        missing: dict[int, str],
        number: int,
    ) -> None:
        """The server's update; whoever breaks it is left out, and noted with the reason."""
        tools, least = self._tools(number), self.federation.min_replies
        with one_thread():
            try:
                found = guarded(
                    lambda usable: update(self.state, usable, tools), self.state, replies, least
                )
            except NotFinite as error:
                raise FedkinError(_diverged(number, str(error), self.method)) from None
        self.state = found.state
        missing |= found.left_out

    def _record(
        self,
        number: int,
        phase: str,
        who: list[int],
        sent: list[Sent],
        missing: dict[int, str],
        began: float,
        at: dict[str, float],
        evaluate: str = "evaluate",
        asked: Sequence[int] = (),
    ) -> Record:
        scores, notes, measures = {}, {}, {}
        before = time.perf_counter()
        if asked:
            orders, _ = self._orders(asked, [])
            for answer in self.transport.ask(evaluate, number, orders):
                if answer.error is not None:
                    one = self.federation.named(answer.client)
                    raise FedkinError(f"round {number}: {one} cannot be evaluated: {answer.error}")
                scores[answer.client] = answer.record["scores"]
                notes[answer.client] = dict(answer.record["notes"])
                measures[answer.client] = dict(answer.record.get("measures", {}))
            _some_finite(number, scores, self.method)
        sent = [item for item in sent if item.direction == "down" or item.client not in missing]
        now = time.perf_counter()
        moved, self._moved = self._moved, Moved()
        seconds = {**at, "evaluation": now - before, "total": now - began}
        return Record(
            number,
            phase,
            who,
            sent,
            missing,
            scores,
            notes,
            _of(who, self.method.server_metrics(self.state)),
            seconds,
            measures,
            moved,
        )


def _of(who: Sequence[int], told: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[int, Any]]:
    """What the server tells of a round's participants, and of the federation (-1): with everybody's
    a record grows with the clients of the whole federation, however few take part.
    """
    kept = {*who, -1}
    return {name: {k: v for k, v in by.items() if k in kept} for name, by in told.items()}


def _diverged(number: int, sign: str, method: Method) -> str:
    """What to tell, and which steps to lower: a personal model has often one of its own."""
    own = [f"method.{name}" for name in method.hyper if name.endswith("_lr")]
    return f"round {number}: training diverged ({sign}): lower {' or '.join(['train.lr', *own])}"


def _some_finite(
    number: int,
    scores: Mapping[int, Mapping[str, Mapping[str, tuple[float, float]]]],
    method: Method,
) -> None:
    """Clients who send nothing (``local``) diverge in silence otherwise: no message of theirs is
    refused.
    """
    losses = [
        loss
        for views in scores.values()
        for splits in views.values()
        for loss, _ in splits.values()
    ]
    if losses and not any(map(math.isfinite, losses)):
        raise FedkinError(_diverged(number, "no client's model has a finite loss", method))


def _identity(leaf: Any) -> Any:
    if hasattr(leaf, "data_ptr"):
        return leaf.data_ptr(), tuple(leaf.shape), leaf.stride(), leaf.dtype
    return leaf


def participants(method: Method, federation: Federation, number: int) -> list[int]:
    """m = ⌈C·M⌉ participants of a round, drawn without replacement; in order.

    Args:
        method: Whether clients are drawn by size, says its ``needs``.
        federation: Whom to draw from, the seed, and the share C.
        number: From 1; the same number gives the same clients.

    Returns:
        Ascending client numbers.
    """
    clients = sorted(federation.infos)
    if federation.poisson:
        return _poisson(clients, federation, number)
    m = participants_of(federation)
    if m >= len(clients):
        return clients
    rng = Key(federation.seed, number).numpy("participants")
    chances = None
    if method.needs.sampling == "size":
        sizes = [federation.infos[client].samples for client in clients]
        total = sum(sizes)  # once: of 40,000 clients, 40,000 sums took 25 s
        chances = [size / total for size in sizes]
    return sorted(int(client) for client in rng.choice(clients, m, replace=False, p=chances))


def _poisson(clients: list[int], federation: Federation, number: int) -> list[int]:
    """Each client with the chance C, whoever else takes part: what the accountant counts on."""
    if federation.secret is None:
        raise FedkinError("[privacy] needs a secret to draw participants from: the run has none")
    drawn = federation.secret.uniform("participants", number, len(clients))
    return [
        client for client, u in zip(clients, drawn, strict=True) if u <= federation.participation
    ]


def participants_of(federation: Federation) -> int:
    """m = ⌈C·M⌉, at least one.

    Args:
        federation: Of M clients, of which the share C takes part.

    Returns:
        m.
    """
    return participants_among(federation.participation, len(federation.infos))


def participants_among(share: float, clients: int) -> int:
    """m = ⌈C·M⌉, at least one.

    Args:
        share: C.
        clients: M.

    Returns:
        How many take part in a round.
    """
    return max(1, math.ceil(round_up_noise(share * clients)))


def round_up_noise(value: float) -> float:
    """0.07 · 100 is 7.000000000000001 in floating point: its ceiling must be 7.

    Args:
        value: A product of two decimal numbers.

    Returns:
        The same, to nine decimals.
    """
    return round(value, 9)
