"""From the first round that is not committed to the last one: rounds, their records, commits."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.core.errors import FedkinError, Halted
from fedkin.core.files import sync_folder, write_file
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.engine.codec import encode
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.interrupts import interrupts
from fedkin.engine.method_calls.server_errors import FailedAtServer
from fedkin.engine.round.schedule import synchronous
from fedkin.engine.store import read_state
from fedkin.engine.transports.base import Transport, one_thread
from fedkin.engine.transports.failures import LostWorker
from fedkin.experiment.early_stopping import EarlyStopping
from fedkin.experiment.masked_record import baselines_of, no_last_scores
from fedkin.experiment.missing_clients import always_missing, mostly_missing
from fedkin.experiment.never_drawn import never_drawn
from fedkin.experiment.restarts import Restarts, restarts
from fedkin.experiment.run_facts import clients_of, facts_of, privacy_of
from fedkin.experiment.terminal import notes
from fedkin.newcomers.local import Learned, held_out
from fedkin.runs import checkpoint
from fedkin.runs.database import Database, create
from fedkin.runs.directory import RECORD, resumed_by
from fedkin.runs.record import EPSILON, FEDERATION, Record
from fedkin.runs.recorder import Recorder
from fedkin.runs.secret_file import new_secret
from fedkin.runs.spec import Spec
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import Assembled
from fedkin.setup.loaded_run import committed
from fedkin.setup.method_transforms import with_secret
from fedkin.setup.privacy import draws_noise, remarks_of, secret_for, spent
from fedkin.setup.remarks import alone, remarks, unsent_noise, why_diverged
from fedkin.setup.secure_aggregation import masking_remarks

__all__ = [
    "Engine",
    "Interrupted",
    "Progress",
    "begin",
    "check_engine",
    "check_schedule",
    "train",
]

Progress = Callable[[Record], None]


def _nothing(parts: Assembled, state: Tree) -> Mapping[str, Any]:
    return {}


class Engine(NamedTuple):
    """Where clients are: how a run's objects are made there, how its hosts are reached, what its
    record says of it, and of the finished run (its objects and the server's last state).
    """

    assemble: Callable[[Spec, Method | None], Assembled]
    connect: Callable[[Assembled, Path], contextlib.AbstractContextManager[Transport]]
    facts: Mapping[str, Any] = {}
    at_the_end: Callable[[Assembled, Tree], Mapping[str, Any]] = _nothing


class Interrupted(Halted):
    """The user stopped the run; its last round is committed."""


def check_engine(spec: Spec, method: Method | None) -> None:
    """A method that only this process knows cannot run in others.

    Args:
        spec: The specification.
        method: A Method value in place of [method]; None where there is none.

    Raises:
        FedkinError: There is one, and the engine is not inprocess.
    """
    if method is not None and spec.engine.name != "inprocess":
        raise FedkinError(
            "a method that is given as a value runs with engine inprocess: name it as "
            "package.module:function, or register it (entry point fedkin.methods), to run it in "
            "worker processes"
        )


def check_schedule(parts: Assembled) -> None:
    """The accountant of [privacy] knows the chances of one schedule alone.

    Args:
        parts: The run.

    Raises:
        FedkinError: It has [privacy], and another schedule.
    """
    if parts.spec.privacy.on and parts.scheduling is not synchronous:
        raise FedkinError(
            "[privacy] counts who takes part as the synchronous schedule draws clients: leave the "
            "other schedule out, or [privacy]"
        )


def begin(parts: Assembled, folder: Path, progress: Progress | None, engine: Engine) -> None:
    """A new record in ``folder``, then all rounds.

    Args:
        parts: The run.
        folder: The run's; there is no record in it yet.
        progress: Is called with the record of each round.
        engine: Where the clients are.
    """
    facts = {**facts_of(parts), **engine.facts}
    if draws_noise(parts.spec, "deployment" in engine.facts) and not parts.spec.privacy.seeded:
        new_secret(folder)
    with contextlib.closing(create(folder / RECORD, facts, clients_of(parts))) as database:
        sync_folder(folder)
        # who is never in a round, and what is in vain, is told before hours of rounds
        notes([*alone(parts), *unsent_noise(parts)])
        train(parts, folder, database, progress, engine)


def train(
    parts: Assembled, folder: Path, database: Database, progress: Progress | None, engine: Engine
) -> None:
    """The rounds that the record does not hold yet.

    Args:
        parts: The run.
        folder: The run's.
        database: Its record; what it has committed is not done again.
        progress: Is called with the record of each round.
        engine: Where the clients are.

    Raises:
        Interrupted: After Ctrl-C; what is committed stays.
        LostWorker: A worker process or an actor has ended.
    """
    check_schedule(parts)
    try:
        _train(parts, folder, database, progress or (lambda record: None), engine)
    except KeyboardInterrupt:  # also while workers start
        last = max(database.last_round(), 0)
        raise Interrupted(
            f"stopped at once, committed up to round {last}: {_resume_command(folder, database)}"
        ) from None
    except LostWorker as error:
        raise error.resumed_by(_resume_command(folder, database)) from None
    except FedkinError as error:
        notes(why_diverged(error, parts))
        raise


class _Training(NamedTuple):
    """A run under way. rounds_of: in how many rounds each client took part."""

    parts: Assembled
    coordinator: Coordinator
    recorder: Recorder
    stopping: EarlyStopping
    cut_off: Restarts
    rounds_of: Counter[int]
    deployed: bool

    @property
    def last(self) -> int:
        """The last round that trains, as far as is known now."""
        return self.stopping.last_round(self.cut_off.last)


def _train(
    parts: Assembled, folder: Path, database: Database, progress: Progress, engine: Engine
) -> None:
    spec, deployed = parts.spec, "deployment" in engine.facts
    cut_off = restarts(database, parts, deployed)
    if draws_noise(spec, deployed):
        secret = secret_for(spec, folder, cut_off.released_again)
        parts = parts._replace(federation=with_secret(parts.federation, secret))
    with one_thread(), engine.connect(parts, folder) as transport, interrupts() as interrupted:
        state_folder = folder if spec.engine.state == "disk" else None
        coordinator = Coordinator(
            parts.method, parts.federation, transport, state_folder, parts.scheduling
        )
        recorder = Recorder(folder, database, _state_writer(coordinator), spec.run.commit_every)
        _restore(coordinator, folder, database)
        stopping, rounds_of = _early_stopping(parts, database), _rounds_of_clients(database)
        run = _Training(parts, coordinator, recorder, stopping, cut_off, rounds_of, deployed)
        _all_rounds(run, progress, interrupted)
        joined = _join_held_out(parts, coordinator, recorder, interrupted)
        facts = _final_facts(run)
        recorder.commit(
            fingerprint=coordinator.fingerprint(),
            warnings=_warnings(parts, coordinator.state, database, rounds_of),
            **joined,
            **cut_off.stopped,
            **facts,
            **engine.at_the_end(parts, coordinator.state),
        )


def _all_rounds(run: _Training, progress: Progress, interrupted: Callable[[], bool]) -> None:
    """From the first round that is not committed to the finish. Raises Interrupted."""
    spec, recorder = run.parts.spec, run.recorder
    for number in range(recorder.database.last_round() + 1, spec.run.rounds + 2):
        trained = run.last
        if trained < number <= spec.run.rounds:
            continue  # the finish keeps its number, whatever went before
        record = _one_round(run.coordinator, spec, number, trained)
        if record.phase == "round":
            run.rounds_of.update(record.participants)
        record = _accounted(record, run, trained)
        recorder.add(record)
        if spec.privacy.on and run.deployed:
            recorder.commit()  # what the next round tells nodes is never told otherwise
        run.stopping.add(record)
        try:
            progress(record)
            if interrupted() and number <= spec.run.rounds:
                raise Interrupted(
                    f"stopped after round {number}; continue with: "
                    f"{_resume_command(recorder.run, recorder.database)}"
                )
        except Interrupted:  # of a deployment's operator, or of this process
            recorder.commit(**run.cut_off.stopped)
            raise


def _warnings(
    parts: Assembled, state: Tree, database: Database, rounds_of: Counter[int]
) -> list[str]:
    """What may mislead about a finished run. state: the server's last one."""
    return [
        *never_drawn(parts, state, rounds_of),
        *always_missing(database, parts.federation.names, rounds_of),
        *mostly_missing(database),
        *(no_last_scores(database) if parts.federation.masked else []),
    ]


def _final_facts(run: _Training) -> dict[str, Any]:
    """Facts of a finished run."""
    parts, trained, again = run.parts, run.last, run.cut_off.released_again
    spec = parts.spec
    changed = again or trained < spec.run.rounds  # since the record began
    privacy = privacy_of(parts, again, trained)
    return {
        "finished": True,
        "said": [
            *parts.population.said,
            *remarks(parts),
            *remarks_of(privacy),
            *masking_remarks(spec, parts.federation),
            *run.coordinator.transport.remarks(),
            *run.stopping.remarks(spec.run.rounds),
            *run.cut_off.remarks(spec.run.rounds, trained),
        ],
        **({"baselines": {}} if run.deployed else baselines_of(parts)),
        **({"privacy": privacy} if changed else {}),
    }


def _early_stopping(parts: Assembled, database: Database) -> EarlyStopping:
    """Where the committed rounds left [run] patience."""
    run = parts.spec.run
    sizes = {FEDERATION: 1, **dict(enumerate(parts.population.sizes("val").tolist()))}
    stopping = EarlyStopping(run.patience, run.measure, sizes)
    stopping.replay(database)
    return stopping


def _rounds_of_clients(database: Database) -> Counter[int]:
    """In how many committed rounds each client took part."""
    rows = database.rows("SELECT participants FROM rounds WHERE phase = 'round'")
    return Counter(client for (names,) in rows for client in json.loads(names))


def _accounted(record: Record, run: _Training, trained: int) -> Record:
    """The record with ε so far, where there is one; the finish releases no round, however far its
    number is from the last one that trained.
    """
    parts = run.parts
    if not parts.spec.privacy.on:
        return record
    clients = parts.infos if parts.spec.privacy.of_samples else record.participants
    counts = {client: run.rounds_of[client] for client in clients}
    released = min(record.round, trained) + run.cut_off.released_again
    epsilon = spent(parts.spec, counts, released, parts.costs, trained)
    return record._replace(server_metrics={**record.server_metrics, EPSILON: epsilon})


def _join_held_out(
    parts: Assembled, coordinator: Coordinator, recorder: Recorder, interrupted: Callable[[], bool]
) -> dict[str, Any]:
    """[run] holdout_clients: each joins the finished run, and what came of it is a fact of the run,
    which is returned. It is one fact of all of them: committed as seldom as rounds are.
    """
    recorder.commit()
    known = recorder.database.facts().get("newcomers", [])
    done = len({one["client"] for one in known})
    trained = recorder.database.last_trained()
    run = Learned(parts, coordinator.state, trained, Runtime(parts.spec.engine.compile))
    for outcomes in held_out(run, done):
        known += outcomes
        stopped = interrupted()
        if stopped or recorder.due:
            recorder.commit(newcomers=known)
        if stopped:
            raise Interrupted(
                "stopped while held-out clients join; continue with: "
                f"{_resume_command(recorder.run, recorder.database)}"
            )
    return {"newcomers": known} if known else {}


def _one_round(coordinator: Coordinator, spec: Spec, number: int, trained: int) -> Record:
    if number == 0:
        return coordinator.setup()
    if number > spec.run.rounds:
        return coordinator.finish(number, trained)
    try:
        return coordinator.round(number, number == trained)
    except FailedAtServer as error:
        raise error.in_round(number) from error.__cause__


def _state_writer(coordinator: Coordinator) -> Callable[[Path, int], list[int]]:
    def save(folder: Path, round: int) -> list[int]:
        write_file(folder / checkpoint.name(checkpoint.SERVER, round), encode(coordinator.state))
        return [checkpoint.SERVER, *coordinator.transport.save(folder, round)]

    return save


def _restore(coordinator: Coordinator, folder: Path, database: Database) -> None:
    """The states of the last committed round, where there is one; what a killed run left goes."""
    states = checkpoint.committed(folder, database)
    checkpoint.tidy(folder, states)
    if database.last_round() >= 0:
        coordinator.state = _server_of(states)
        clients = {number: path for number, path in states.items() if number != checkpoint.SERVER}
        coordinator.transport.load(clients)


def _server_of(states: dict[int, Path]) -> Tree:
    server = states.get(checkpoint.SERVER)
    return committed(None if server is None else read_state(server))


def _resume_command(folder: Path, database: Database) -> str:
    return resumed_by(str(folder), database.facts())
