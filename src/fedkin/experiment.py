"""Run an experiment: spec → objects → records. The Python interface and the command line both come here."""

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fedkin.assemble import Assembled, assemble, host_of
from fedkin.core.errors import FedkinError, Halted
from fedkin.core.files import write_file
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.engine.coordinator import Coordinator
from fedkin.engine.interrupts import interrupts
from fedkin.engine.store import read_state
from fedkin.engine.transport import InProcess, Transport, one_thread
from fedkin.engine.wire import encode
from fedkin.facts import clients_of, facts_of, toml_of
from fedkin.machine import hosts
from fedkin.newcomers import held_out
from fedkin.runs import checkpoint
from fedkin.runs.database import Database, create, open_run, read_only
from fedkin.runs.directory import RECORD, SPEC, leftover, unrecorded
from fedkin.runs.record import Record
from fedkin.runs.recorder import Recorder
from fedkin.runs.spec import Spec, assign, parse, read
from fedkin.snapshot import Snapshot, snapshot

Progress = Callable[[Record], None]


class Engine(NamedTuple):
    """Where clients are: how a run's objects are made there, how its hosts are reached, what its record says of it."""

    assemble: Callable[[Spec, Method | None], Assembled]
    connect: Callable[[Assembled, Path], contextlib.AbstractContextManager[Transport]]
    facts: Mapping[str, Any] = {}


class Interrupted(Halted):
    """The user stopped the run; its last round is committed."""


def experiment(content: Mapping[str, Any] | None = None, **settings: Any) -> Spec:
    """A checked specification from sections (as in TOML) and keywords with dots as double underscores.

    >>> experiment(method__name="fedavg", run__rounds=5).run.rounds
    5
    """
    merged: dict[str, Any] = {key: dict(value) for key, value in (content or {}).items()}
    for key, value in settings.items():
        assign(merged, key.replace("__", "."), value)
    return parse(merged)[0]


def run(
    spec: Spec,
    out: Path | str | None = None,
    *,
    method: Method | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Path:
    """Run an experiment from its beginning; returns the run directory.

    ``method``: a Method value in place of [method], for methods that are not registered (engine inprocess only).
    ``engine``: where the clients are, if not in processes of this machine.
    Raises FedkinError before training for whatever does not fit, Interrupted after Ctrl-C.
    """
    _check_engine(spec, method)
    engine = engine or Engine(assemble, hosts)
    parts = engine.assemble(spec, method)
    folder = _new_folder(spec, parts, out)
    with checkpoint.alone(folder):
        _keep(parts, folder)
        _begin(parts, folder, progress, engine)
    return folder


def resume(
    folder: Path,
    *,
    method: Method | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
) -> Path:
    """Continue a run from its last committed round; a finished run is left as it is. Returns the run directory."""
    engine = engine or Engine(assemble, hosts)
    anew = unrecorded(folder)
    if not anew:
        open_run(folder).close()  # not a run, or not one of ours: said before anything is written
    with checkpoint.alone(folder):
        if anew:
            spec = _spec_of(folder, workers)
            _check_engine(spec, method)
            _begin(engine.assemble(spec, method), folder, progress, engine)
            return folder
        with contextlib.closing(open_run(folder, write=True)) as database:
            facts = database.facts()
            if facts.get("finished"):
                return folder
            if facts.get("deployment") != engine.facts.get("deployment"):
                raise FedkinError(f"{folder} is a run of a deployment: continue it with fedkin deploy run --resume")
            spec = _spec_of(folder, workers)
            _unchanged(folder, spec, facts.get("spec", {}))
            _check_engine(spec, method)
            parts = engine.assemble(spec, method)
            _same_data(folder, parts, facts)
            _train(parts, folder, database, progress or _silent, engine)
    return folder


def _keep(parts: Assembled, folder: Path) -> None:
    try:
        write_file(folder / SPEC, toml_of(parts))
    except OSError as error:
        raise Halted(f"{folder} cannot be written: {error.strerror}") from None


def _begin(parts: Assembled, folder: Path, progress: Progress | None, engine: Engine) -> None:
    facts = {**facts_of(parts), **engine.facts}
    with contextlib.closing(create(folder / RECORD, facts, clients_of(parts))) as database:
        checkpoint.sync(folder)
        _train(parts, folder, database, progress or _silent, engine)


def _spec_of(folder: Path, workers: int | None = None) -> Spec:
    content, text = read(folder / SPEC)
    spec, _ = parse(content, text, str(folder / SPEC))
    if workers is None:
        return spec
    return _with_engine(spec, workers=workers)


def _with_engine(spec: Spec, **changes: Any) -> Spec:
    return spec.model_copy(update={"engine": spec.engine.model_copy(update=changes)})


def _unchanged(folder: Path, spec: Spec, recorded: Mapping[str, Any]) -> None:
    """Rounds of one run belong to one specification; [engine] does not change results and may change."""
    with contextlib.suppress(ValueError):  # what it did not know yet when it began has its default
        recorded = Spec.model_validate(recorded).model_dump(mode="json")
    for section, now in spec.model_dump(mode="json").items():
        if section != "engine" and now != recorded.get(section, now):
            before = recorded[section]
            keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
            what = f"{section}.{keys[0]} is not what this run began with"
            raise FedkinError(f"{folder / SPEC}: {what}: put it back, or start another run")


def _same_data(folder: Path, parts: Assembled, facts: Mapping[str, Any]) -> None:
    """A run's models belong to its data, and to what was fitted on them: how columns are encoded."""
    if parts.population.digest() != facts.get("data_digest"):
        raise FedkinError(f"{folder}: the data are not those that this run began with")


class Loaded(NamedTuple):
    """A run in this process, and the commit that it was taken ``at``; by now the run may be further."""

    coordinator: Coordinator
    parts: Assembled
    at: Snapshot


def load(folder: Path, *, method: Method | None = None) -> Loaded:
    """A run at its last committed round, in this process: for looking at models, not for training on.

    A client's state is read when it is asked for: StoreError then where its file is gone or damaged.
    """
    with read_only(folder) as database:
        facts = database.facts()
    if facts.get("deployment"):
        raise FedkinError(
            f"{folder} is a run of a deployment: its personal models never left their nodes, where "
            "fedkin deploy export and predict find them"
        )
    here = _with_engine(_spec_of(folder), device="cpu")  # where it is looked at there may be no GPU
    parts = assemble(here, method)
    _same_data(folder, parts, facts)
    aside = Path(tempfile.mkdtemp(prefix="fedkin-"))  # not the run's own: it may be running
    host = host_of(parts, sorted(parts.infos), aside / "state")
    transport = InProcess(host)
    weakref.finalize(transport, shutil.rmtree, aside, ignore_errors=True)
    coordinator = Coordinator(parts.method, parts.federation, transport)
    at = snapshot(folder, aside)
    coordinator.state, host.store = _committed(at.server), at.states
    return Loaded(coordinator, parts, at)


def _train(parts: Assembled, folder: Path, database: Database, progress: Progress, engine: Engine) -> None:
    spec = parts.spec
    with one_thread(), engine.connect(parts, folder) as transport, interrupts() as interrupted:
        aside = folder if spec.engine.state == "disk" else None
        coordinator = Coordinator(parts.method, parts.federation, transport, aside)
        recorder = Recorder(folder, database, _saver(coordinator), spec.run.commit_every)
        done = database.last_round()
        if done >= 0:
            states = checkpoint.committed(folder, database)
            checkpoint.tidy(folder, states)
            _restore(coordinator, states)
        try:
            for number in range(done + 1, spec.run.rounds + 2):
                record = _one(coordinator, spec, number)
                recorder.add(record)
                progress(record)
                if interrupted() and number <= spec.run.rounds:
                    recorder.commit()
                    raise Interrupted(f"stopped after round {number}; continue with: fedkin resume {folder}")
            _join(parts, coordinator, recorder, interrupted)
        except KeyboardInterrupt:
            last = database.last_round()
            raise Interrupted(f"stopped at once, committed up to round {last}: fedkin resume {folder}") from None
        recorder.commit(
            finished=True, fingerprint=coordinator.fingerprint(), said=[*parts.population.said, *transport.said()]
        )


def _join(parts: Assembled, coordinator: Coordinator, recorder: Recorder, interrupted: Callable[[], bool]) -> None:
    """[run] holdout_clients: each joins the finished run, and what came of it is a fact of the run."""
    recorder.commit()
    known = recorder.database.facts().get("newcomers", [])
    done = len({one["client"] for one in known})
    for found in held_out(parts, coordinator.state, done):
        known = [*known, *found]
        recorder.commit(newcomers=known)
        if interrupted():
            raise Interrupted(f"stopped while held-out clients join; continue with: fedkin resume {recorder.run}")


def _one(coordinator: Coordinator, spec: Spec, number: int) -> Record:
    if number == 0:
        return coordinator.setup()
    if number > spec.run.rounds:
        return coordinator.finish(number)
    return coordinator.round(number, number % spec.run.evaluate_every == 0 or number == spec.run.rounds)


def _saver(coordinator: Coordinator) -> Callable[[Path, int], list[int]]:
    def save(folder: Path, round: int) -> list[int]:
        write_file(folder / checkpoint.name(checkpoint.SERVER, round), encode(coordinator.state))
        return [checkpoint.SERVER, *coordinator.transport.save(folder, round)]

    return save


def _restore(coordinator: Coordinator, states: dict[int, Path]) -> None:
    coordinator.state = _server_of(states)
    coordinator.transport.load(_clients_of(states))


def _server_of(states: dict[int, Path]) -> Tree:
    server = states.get(checkpoint.SERVER)
    return _committed(None if server is None else read_state(server))


def _committed(state: Tree | None) -> Tree:
    if state is None:
        raise FedkinError("nothing is committed yet: start the run again")
    return state


def _clients_of(states: dict[int, Path]) -> dict[int, Path]:
    return {client: path for client, path in states.items() if client != checkpoint.SERVER}


def _check_engine(spec: Spec, method: Method | None) -> None:
    if method is not None and spec.engine.name != "inprocess":
        raise FedkinError(
            "a method that is given as a value runs with engine inprocess: register it (entry point fedkin.methods) "
            "to run it in worker processes"
        )


def _new_folder(spec: Spec, parts: Assembled, out: Path | str | None) -> Path:
    chosen = out or spec.run.out
    if chosen is None:
        stem = f"{parts.method.name}-{Path(spec.data.name).stem}-seed{spec.run.seed}"
        chosen = next(p for n in range(1, 100_000) if not (p := Path("runs") / f"{stem}-{n}").exists())
    folder = Path(chosen)
    if folder.exists() and (not folder.is_dir() or any(not leftover(path) for path in folder.iterdir())):
        raise FedkinError(f"{folder} exists and is not empty: choose another run.out, or: fedkin resume {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedkinError(f"{folder} cannot be made: {error.strerror}") from None
    return folder


def _silent(record: Record) -> None:
    pass
