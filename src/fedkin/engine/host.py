"""A host owns clients: their data, their personal state, their models. Only messages leave it."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.method import ClientInfo, Method
from fedkin.core.model import Model
from fedkin.core.ops import Scanner
from fedkin.core.rng import Key
from fedkin.core.system.no_exit import no_exit
from fedkin.core.tree import Tree, leaves
from fedkin.data.population import Population
from fedkin.engine.codec import check, check_kinds, decode, encode
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.engine.evaluation import Evaluation, each_view
from fedkin.engine.masking import UNPROTECTED, Protection
from fedkin.engine.method_calls.client_metrics import metrics_of
from fedkin.engine.method_calls.client_update import state_and_message
from fedkin.engine.method_calls.errors import error_text
from fedkin.engine.method_calls.views import FirstViews
from fedkin.engine.mutation_guard import MutationGuard
from fedkin.engine.op import DRAWN, SCORING, STAGES, Op, ScoringStage, Stage, Task, TaskResult
from fedkin.engine.partial_sums import PartialSums
from fedkin.engine.store import Store, StoreError, read_state
from fedkin.engine.vmap.batcher import VmapBatcher
from fedkin.masks.signatures import broadcast_digest
from fedkin.runtime.generators import drawing_from
from fedkin.runtime.replay import Runtime

# the splits that every evaluation is of; the last one has train, too, where it may leave
SCORED = ("val", "test")


class Resources(NamedTuple):
    """What a host computes with, and where it keeps what it holds."""

    runtime: Runtime  # makes its clients' steps
    store: Store  # of their personal states
    block: int = 1  # how many clients' steps are made together (``fedkin.engine.vmap.batcher``)
    partial_sums: PartialSums | None = None  # of messages; None: each leaves the host


class Host:
    """Runs a method's client side for the clients it owns.

    ``do(op, round, tasks)`` yields one TaskResult a task; ``op`` names one of the functions in OPS.
    An exception of one client's work becomes its result's ``error``, and its personal state stays
    as it was; a method that wrote into the state itself ends the run.

    Args:
        method: What is run.
        models: Every architecture that its clients have, by name.
        infos: {client: what it knows of itself}, of the clients that it owns.
        population: Has their data.
        schedule: How much local work a round is.
        resources: What it computes with.
        seed: Of the run.
        measure: Of the experiment, taken in every evaluation; "": none beside loss and accuracy.
        protection: What hides its clients from the server.
        describe_error: What is told of an exception that no check foresaw.
    """

    def __init__(
        self,
        method: Method,
        models: Mapping[str, Model],
        infos: Mapping[int, ClientInfo],
        population: Population,
        schedule: Schedule,
        resources: Resources,
        seed: int,
        measure: str = "",
        protection: Protection = UNPROTECTED,
        describe_error: Callable[[Exception], str] = error_text,
    ) -> None:
        self.method, self.models, self.infos = method, models, infos
        self.population, self.schedule = population, schedule
        self.seed, self.measure, self.describe_error = seed, measure, describe_error
        self.secret, self.masking, train_scores = protection
        self.scored_at_the_end = ("train", *SCORED) if train_scores else SCORED
        runtime, self.store, self.block, self.partial_sums = resources
        self.device = runtime.device
        self._together = VmapBatcher(runtime)
        self.runtime: Scanner = runtime if self.block == 1 else self._together
        self._dirty: set[int] = set()
        self.first_views = FirstViews(method, runtime.device)
        self._decoded: tuple[bytes, MutationGuard] | None = None

    def do(self, op: Op, round: int, tasks: Iterable[Task]) -> Iterator[TaskResult]:
        """Do one kind of work for several clients.

        Args:
            op: One of OPS: "local", "evaluate", "views", …
            round: From 1; 0 before the first one.
            tasks: Client and encoded message, in any order.

        Yields:
            An answer for each, in the order of ``tasks``.
        """
        if self.partial_sums is not None:
            self.partial_sums.clear()
        waiting = iter(tasks)
        while group := list(islice(waiting, self.block)):
            jobs = [partial(self._do_task, op, round, task) for task in group]
            yield from self._together.run(jobs) if self.block > 1 else (job() for job in jobs)

    def _do_task(self, op: Op, round: int, task: Task) -> TaskResult:
        began = time.perf_counter()
        try:
            seed = Key(self.seed, round, task.client).integer(f"{DRAWN.get(op, op)}:dropout")
            with no_exit(), drawing_from(seed, self.device):
                answer = OPS[op](self, round, task)
        except StoreError:
            raise
        except FedkinError as error:
            answer = TaskResult(task.client, error=str(error))
        # one client's failure is recorded and must not end the others' round
        except Exception as error:
            answer = TaskResult(task.client, error=self.describe_error(error))
        return answer._replace(
            seconds=time.perf_counter() - began,
            kept=task.client in self._dirty,
            version=round - 1,
        )

    def save(self, folder: Path, round: int) -> list[int]:
        """Write the states that changed since the last call, as ``{client}.{round}.safetensors``;
        returns whose.

        Args:
            folder: Of a checkpoint; it is there.
            round: The last one that is over.

        Returns:
            Client numbers, ascending.
        """
        changed = sorted(self._dirty)
        for client in changed:
            write_file(folder / f"{client}.{round}.safetensors", encode(self.store.get(client)))
        self._dirty.clear()
        return changed

    def load(self, states: Mapping[int, Path]) -> None:
        """Take over the states of a checkpoint.

        Args:
            states: Client → file.
        """
        for client, path in states.items():
            self.store.put(client, read_state(path))

    def digest(self, client: int) -> str:
        """sha256 of a client's personal state.

        Args:
            client: Its number.

        Returns:
            64 hexadecimal digits.
        """
        return hashlib.sha256(encode(self.personal_state(client))).hexdigest()

    def personal_state(self, client: int) -> Tree:
        """The personal state of a client, the first one if it never worked.

        Args:
            client: Its number.

        Returns:
            A tree; {} of a method without personal state.
        """
        state = self.store.get(client)
        if state is None:
            info = self.infos[client]
            state = self.method.client(self.models[info.architecture].initial, info)
        return state

    def data(self, round: int, client: int, trained: int | None = None) -> LocalData:
        """What the method's functions are given for this client in this round.

        Args:
            round: From 1; 0 before the first one.
            client: Its number.
            trained: The last round that trained, as in a task.

        Returns:
            Its rows, its model, its random streams.
        """
        info = self.infos[client]
        model = self.models[info.architecture]
        key = Key(self.seed, round, client)
        return LocalData(
            info,
            model,
            key,
            self.population,
            self.runtime,
            self.schedule,
            self.measure,
            None if self.secret is None else self.secret.of(f"client {client}"),
            trained,
        )

    def training(self, round: int, client: int) -> LocalData:
        """The same for a round's work: of a comparator outside federation (``needs.pooled``),
        everybody's rows.

        Args:
            round: From 1; 0 before the first one.
            client: Its number.

        Returns:
            What local training may see.
        """
        data = self.data(round, client)
        return data.pooled(self._everyones) if self.method.needs.pooled else data

    @cached_property
    def _everyones(self) -> Population:
        return self.population.pooled()

    def receive(self, task: Task) -> MutationGuard:
        """The message that came for a client; a broadcast is read once.

        Args:
            task: Client and encoded message.

        Returns:
            {} where none came.
        """
        if task.message is None:
            return MutationGuard({})
        decoded = self._decoded
        if decoded is None or decoded[0] != task.message or not decoded[1].is_as_it_was():
            decoded = self._decoded = task.message, MutationGuard(decode(task.message))
        return decoded[1]

    @contextmanager
    def method_inputs(self, task: Task, round: int) -> Iterator[tuple[Tree, Tree]]:
        """What one of the method's functions is given, and must not write into.

        Args:
            task: Client and encoded message.
            round: Which is said where it did.

        Yields:
            The message that came, and the client's personal state.

        Raises:
            FedkinError: The function wrote into the message, whether it failed or not; the message
                is decoded anew for whoever gets it next.
            StoreError: It wrote into the personal state, which nobody can restore: a copy for each
                call would cost memory, and keep clients that hold the same tensors from being
                computed together.
        """
        down, own = self.receive(task), MutationGuard(self.personal_state(task.client))

        def check() -> None:
            try:
                own.check(self.method.name, "a client's personal state")
            except FedkinError as error:
                raise StoreError(f"round {round}, client {task.client}: {error}") from None
            down.check(self.method.name, "the message that a client received")

        try:
            yield down.handed(), own.handed()
        except Exception:
            check()
            raise
        check()

    def keep(self, client: int, state: Tree) -> None:
        """Keep a client's new personal state, and note that it changed.

        Args:
            client: Its number.
            state: An empty one replaces what was kept; who kept nothing goes on so.

        Raises:
            FedkinError: It is None.
        """
        if state is None:
            raise FedkinError(
                f"method {self.method.name}: the state that a client keeps is None: return "
                "{} for none"
            )
        if leaves(state) or self.store.get(client) is not None:
            self.store.put(client, state)
            self._dirty.add(client)

    def answer(self, task: Task, message: Tree, down: Tree, round: int) -> TaskResult:
        """Check a message against what the method promises, and encode it, or hold it for a sum;
        under masks it waits here, and its client's public keys go in its place.

        Args:
            task: Of the client, with what it was sent.
            message: What its update returned.
            down: What it had received, on which the expected form may depend.
            round: Counts from 1.

        Returns:
            The encoded message, or what is said of one that stays here; with the number of
            training samples as its weight.
        """
        client, info = task.client, self.infos[task.client]
        check_kinds(message, self.method.name)
        largest = check(message, self.method.expected_update(down, info))
        samples = float(info.samples)
        if self.masking is not None:
            keys = self.masking.begin(
                round, client, message, samples, broadcast_digest(task.message)
            )
            return TaskResult(client, keys, samples)
        if self.partial_sums is None:
            return TaskResult(client, encode(message), samples)
        unsummed, size = self.partial_sums.put(client, message, samples)
        size_facts = {"scalars": size.scalars, "bytes": size.bytes, "largest": largest}
        return TaskResult(client, unsummed, samples, held=size_facts)

    def evaluated(self, task: Task, record: Evaluation, round: int) -> TaskResult:
        """What leaves the host of an evaluation; under masks it waits here as well.

        Args:
            task: Of the client, with what it was sent.
            record: Its scores, measures and notes.
            round: After which it is evaluated.

        Returns:
            The record, or public keys in its place.
        """
        client, population = task.client, self.population
        if self.masking is None:
            return TaskResult(client, record=record)
        samples = {"val": len(population.val[client]), "test": len(population.test[client])}
        keys = self.masking.begin_scores(
            round, client, record, samples, broadcast_digest(task.message)
        )
        return TaskResult(client, keys)


def _introduce(host: Host, round: int, task: Task) -> TaskResult:
    assert host.method.setup_message is not None
    with host.method_inputs(task, round) as (_, own):
        message = host.method.setup_message(own, host.data(round, task.client))
    check_kinds(message, host.method.name)
    return TaskResult(task.client, encode(message), float(host.infos[task.client].samples))


def _local(host: Host, round: int, task: Task) -> TaskResult:
    with host.method_inputs(task, round) as (down, own):
        data = host.training(round, task.client)
        returned = host.method.client_update(down, own, data)
    state, message = state_and_message(host.method, returned)
    answer = host.answer(task, message, host.receive(task).handed(), round)
    host.keep(task.client, state)
    return answer


def _finish(host: Host, round: int, task: Task) -> TaskResult:
    assert host.method.finalize is not None
    data = host.data(round, task.client, task.trained)
    with host.method_inputs(task, round) as (down, own):
        state = host.method.finalize(down, own, data)
    host.keep(task.client, state)
    return TaskResult(task.client)


def _evaluate(host: Host, round: int, task: Task) -> TaskResult:
    data, own, views = _viewed(host, round, task)
    scores = each_view(views, lambda view: _scores(host, data, view, SCORED))
    measures = each_view(
        views, lambda view: data.measure(view, host.method.predict, _losses(scores, views, view))
    )
    defined = measures if any(measures.values()) else {}
    record = Evaluation(scores, metrics_of(host.method, own), defined)
    return host.evaluated(task, record, round)


def _evaluate_all(host: Host, round: int, task: Task) -> TaskResult:
    data, own, views = _viewed(host, round, task)
    scores = each_view(views, lambda view: _scores(host, data, view, host.scored_at_the_end))
    measures = each_view(views, lambda view: data.measures(view, host.method.predict))
    return host.evaluated(task, Evaluation(scores, metrics_of(host.method, own), measures), round)


def _viewed(host: Host, round: int, task: Task) -> tuple[LocalData, Tree, dict[str, Tree]]:
    """A client's data, state and views; making views may train (``personal_models`` of a method),
    so they are made once.
    """
    data = host.data(round, task.client, task.trained)
    with host.method_inputs(task, round) as (down, own):
        views = host.first_views.checked(data, host.method.personal_models(down, own, data))
    return data, own, views


def _scores(
    host: Host, data: LocalData, view: Tree, splits: Iterable[str]
) -> dict[str, tuple[float, float]]:
    return {split: data.score(view, split, host.method.predict) for split in splits}


def _losses(scores: dict[str, Any], views: dict[str, Tree], scored_view: Tree) -> dict[str, float]:
    """{split: mean loss} of a view that was scored."""
    name = next(name for name, view in views.items() if view is scored_view)
    return {split: loss for split, (loss, _) in scores[name].items()}


def _views(host: Host, round: int, task: Task) -> TaskResult:
    return TaskResult(task.client, encode(_viewed(host, round, task)[2]))


def _masks(stage: Stage | ScoringStage, host: Host, round: int, task: Task) -> TaskResult:
    """A later stage of secure aggregation."""
    if host.masking is None or task.message is None:
        raise FedkinError(f"{stage} was asked for, and this experiment has no secure aggregation")
    return TaskResult(task.client, host.masking.answer(stage, round, task.client, task.message))


OPS: dict[Op, Callable[[Host, int, Task], TaskResult]] = {
    "introduce": _introduce,
    "local": _local,
    "finish": _finish,
    "evaluate": _evaluate,
    "evaluate_all": _evaluate_all,
    "views": _views,
    **{stage: partial(_masks, stage) for stage in (*STAGES, *SCORING)},
}
