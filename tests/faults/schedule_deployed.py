"""Ways to die that need an extra: a node, a deployment's server, a Ray actor."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ray
from flwr.app import Error, Message

from fedkin.engine.op import Task, TaskResult
from fedkin.engine.transports.ray import Actors
from fedkin.experiment.resume import resume
from fedkin.experiment.run import experiment, run
from fedkin.flower import server
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import init
from fedkin.flower.records import pack, unpack
from tests.engine.small import content, forking, outcome
from tests.faults import dying
from tests.faults.schedule import (
    PATIENT,
    SMALL,
    TWO,
    Kill,
    TooLate,
    in_this_process,
    plain,
    readable,
    strike,
)
from tests.flower.cluster import result
from tests.flower.fleet import LIMIT, Grid
from tests.flower.reference import faulty

NAMES = ("c0", "c1", "c2")
DEPLOYED = {**SMALL, "run__participation": 1.0, "engine__name": "inprocess"}


@cache
def _spec(method: str) -> Any:
    return experiment(content(method, **DEPLOYED))


# One node ---------------------------------------------------------------------------------------


def one_node(home: Path, kill: Kill, sooner: float) -> None:
    """It dies at its work and is started again; its round is missing, and nothing else differs."""
    chance = kill.chance()
    victim, fatal = chance.choice(NAMES), 1 + int(4 * sooner * chance.random())
    folder = init(home / "d", _spec(kill.method), NAMES, "127.0.0.1:9092", own_data=False)
    node = Mortal(folder / "nodes" / victim, fatal, sooner, chance)
    others: Any = {name: Node(folder / "nodes" / name) for name in NAMES if name != victim}
    nodes = {name: node if name == victim else others[name] for name in NAMES}
    try:
        server.serve(MortalGrid(nodes), folder, home / "run", folder / "stop")  # type: ignore[arg-type]
    finally:
        node.close()
    if not node.killed:
        raise TooLate
    deployed = result(home / "run")
    away = [(round, client) for round, client, *_ in deployed["events"]]
    assert {client for _, client in away} <= {NAMES.index(victim)}, deployed["events"]
    spec = _spec(kill.method)
    alone = result(faulty(spec, home / "alone", away)) if away else _alone(kill.method)
    if deployed["fingerprint"] != alone["fingerprint"]:  # it had finished, and died evaluating
        worked = [(round, client) for round, client in away if round <= SMALL["run__rounds"]]
        alone = result(faulty(spec, home / "worked", worked))
    for what in ("fingerprint", "messages", "rounds"):
        assert deployed[what] == alone[what], what
    assert set(deployed["metrics"]) <= set(alone["metrics"])
    unseen = {row[1] for row in set(alone["metrics"]) - set(deployed["metrics"])}
    assert unseen <= {NAMES.index(victim)}


class Mortal:
    """A node in a process, which is killed at one of its answers: after a while, or at a step."""

    def __init__(self, folder: Path, fatal: int, sooner: float, chance: Any) -> None:
        self.folder, self.fatal, self.killed = folder, fatal, False
        self._step = 1 + int(8 * sooner * chance.random()) if chance.random() < 0.5 else 0
        self._share = sooner * chance.random()
        self._asked, self._took = 0, 0.1
        self._start()

    def _start(self) -> None:
        context = forking()
        self._line, there = context.Pipe()
        self._process = context.Process(target=living, args=(self.folder, there))
        self._process.start()
        there.close()

    def answer(self, parts: list[bytes]) -> list[bytes] | None:
        """None where it died."""
        self._asked += 1
        dies = self._asked == self.fatal + 1  # the first question is who it is
        began = time.monotonic()
        try:
            self._line.send((self._step if dies else 0, parts))
        except BrokenPipeError:  # it died after its answer: it was started again since
            self._again()
            self._line.send((0, parts))
        if dies and not self._step:
            self._line.poll(self._took * self._share)
            self._strike()
        try:
            reply: list[bytes] = self._line.recv()
        except (EOFError, ConnectionError):
            self._again()
            return None
        self._took = time.monotonic() - began
        return reply

    def _again(self) -> None:
        self.killed = True
        self._process.join(PATIENT)
        self._start()

    def _strike(self) -> None:
        assert self._process.pid is not None
        strike([self._process.pid])

    def close(self) -> None:
        self._strike()
        self._process.join(PATIENT)


def living(folder: Path, line: "Connection[Any, Any]") -> None:
    """A node's host, without its socket; it dies at a step towards the disk where it is told."""
    node, steps = Node(folder), dying.Steps(0)
    steps.before(os, "fsync")
    steps.before(Path, "replace")
    steps.before(Path, "unlink")
    steps.before(Path, "mkdir")
    steps.writing()
    with contextlib.suppress(EOFError):
        while True:
            fatal, parts = line.recv()
            steps.count, steps.fatal = 0, fatal
            line.send(node.answer(parts))


class MortalGrid(Grid):
    """A grid that says when a node died."""

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            name = self.names[message.metadata.dst_node_id - 10]
            found: Any = self.nodes[name].answer(unpack(message.content, LIMIT))
            body = Error(1, "it died") if found is None else pack(found)
            self._replies[message.metadata.message_id] = Message(body, reply_to=message)
            ids.append(message.metadata.message_id)
        return ids


# A deployment's server --------------------------------------------------------------------------


def the_server(home: Path, kill: Kill, sooner: float) -> None:
    """It dies at a step towards the disk, its nodes with it; the run is resumed."""
    folder = init(home / "d", _spec(kill.method), NAMES, "127.0.0.1:9092", own_data=False)
    fatal = 1 + int(kill.chance().random() * 2 * plain(kill.method)[1] * sooner)
    process = forking().Process(target=serving, args=(folder, home / "run", fatal))
    process.start()
    process.join(PATIENT)
    if process.exitcode == 0:
        raise TooLate
    assert process.exitcode == -signal.SIGKILL, process.exitcode
    readable(home / "run", models=False)
    _serve(folder, home / "run")
    assert result(home / "run") == _alone(kill.method)


@cache
def _alone(method: str) -> dict[str, Any]:
    """What an undisturbed run comes to, in one process."""
    with tempfile.TemporaryDirectory() as home:
        return result(run(_spec(method), Path(home) / "run"))


def _serve(folder: Path, out: Path) -> None:
    nodes = {name: Node(folder / "nodes" / name) for name in NAMES}
    server.serve(Grid(nodes), folder, out, folder / "stop")  # type: ignore[arg-type]


def serving(folder: Path, out: Path, fatal: int) -> None:
    """The server and its nodes in this process, until it dies."""
    steps = dying.Steps(fatal)
    steps.before(os, "fsync")
    steps.before(Path, "replace")
    steps.before(Path, "unlink")
    steps.before(Path, "mkdir")
    steps.statements()
    steps.writing()
    with open(os.devnull, "w", encoding="ascii") as nowhere, contextlib.redirect_stderr(nowhere):
        _serve(folder, out)


# A Ray actor ------------------------------------------------------------------------------------


def one_actor(home: Path, kill: Kill, sooner: float) -> None:
    """One of two; the run says so in one sentence, and goes on in one process."""
    from fedkin.core.errors import FedkinError

    if not ray.is_initialized():
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    chance = kill.chance()
    fatal, victim, wait = chance.randint(1, 5), chance.randrange(2), chance.uniform(0, 0.02)
    ask, calls, struck = Actors.ask, [0], []

    def losing(self: Actors, op: str, at: int, orders: Iterable[Task]) -> Iterator[TaskResult]:
        calls[0] += 1
        if calls[0] == fatal:
            actor = self._actors[victim]._actor_id.hex()
            pid = ray._private.state.actors(actor)["Pid"]
            struck.append(pid)
            threading.Timer(wait * sooner, os.kill, (pid, signal.SIGKILL)).start()
        yield from ask(self, op, at, orders)

    said = ""
    settings = {**TWO, "engine__name": "ray"}
    with patch.object(Actors, "ask", losing):
        try:
            run(experiment(content(kill.method, **SMALL, **settings)), home / "run")
        except FedkinError as error:
            said = str(error)
    if not said:
        shutil.rmtree(home / "run")
        raise TooLate
    assert struck, said
    assert f"Ray actor {victim} ended" in said, said
    assert "\n" not in said, said
    readable(home / "run")
    in_this_process(home / "run")
    resume(home / "run")
    assert outcome(home / "run") == plain(kill.method)[0]
