"""Random kills on a schedule: every method meets every way to die, and every run is gone on with.

``scripts/kills`` prints a line a way. A kill is SIGKILL. What is committed must be readable at
once; what the run comes to after it was resumed must be, bit for bit, what it comes to when nobody
disturbs it: parameters, states, scores and ledger.
"""

import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import tomli_w

from fedkin.core.errors import FedkinError
from fedkin.engine.transports import processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import experiment, run
from fedkin.runs.database import read_only
from fedkin.runs.spec import read
from fedkin.setup.loaded_run import load
from tests.engine.small import METHODS, Forked, content, forking, outcome
from tests.faults import dying

SMALL: dict[str, Any] = {"run__clients": 3, "run__rounds": 2}
LATE = 4  # attempts that may end before their kill
PATIENT = 600.0  # seconds that anything here may take
ENDED = 3  # how a coordinator ends that lost a worker, and said so in one sentence


class Kill(NamedTuple):
    """One of the schedule. ``number`` and ``seed`` give all of its chances."""

    number: int
    way: str
    method: str
    seed: int

    def chance(self) -> random.Random:
        """The moment, the victim, the step."""
        return random.Random(f"{self.seed} {self.number} {self.way} {self.method}")


class TooLate(Exception):
    """The run was over before it was to be killed."""


# In a process of its own ------------------------------------------------------------------------


class Worker(Forked):
    """A worker process forked from the coordinator, which notes its number in a file."""

    def __init__(self, command: list[str], env: dict[str, str], notes: Path) -> None:
        from tests.engine.small import _work

        self._process: BaseProcess = get_context("fork").Process(
            target=_alone, args=(partial(_work, command[-2], command[-1], env, None),), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        with open(notes, "a", encoding="ascii") as file:
            file.write(f"{self.pid}\n")


def _alone(work: Callable[[], None]) -> None:
    """As after Popen: nothing that the coordinator has open (its lock!) is open here."""
    os.closerange(3, 1000)
    work()


def coordinate(spec: Path, folder: Path, notes: Path) -> None:
    """A run, whose workers are forked; ends with ENDED where it ends in one sentence."""
    from subprocess import TimeoutExpired

    own: Any = SimpleNamespace(Popen=partial(Worker, notes=notes), TimeoutExpired=TimeoutExpired)
    processes.subprocess = own
    with open(os.devnull, "w", encoding="ascii") as nowhere, contextlib.redirect_stderr(nowhere):
        try:
            run(experiment(read(spec)[0]), folder)
        except FedkinError as error:
            notes.with_suffix(".said").write_text(str(error), encoding="utf-8")
            sys.exit(ENDED)


# What every kill has in common ------------------------------------------------------------------


class Place:
    """A folder for one kill, and what its run must come to."""

    def __init__(self, home: Path, kill: Kill, **settings: Any) -> None:
        self.folder, self.spec, self.notes = home / "run", home / "spec.toml", home / "notes"
        self.kill = kill
        self.spec.write_text(tomli_w.dumps(content(kill.method, **SMALL, **settings)))

    def start(self) -> BaseProcess:
        """The coordinator, in a process."""
        process = forking().Process(target=coordinate, args=(self.spec, self.folder, self.notes))
        process.start()
        return process

    def workers(self) -> list[int]:
        """The worker processes that have begun."""
        return [int(line) for line in self.notes.read_text().split()] if self.notes.exists() else []

    def cleared(self) -> "Place":
        """For another attempt."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.notes.unlink(missing_ok=True)
        return self

    def gone_on_with(self) -> None:
        """What is committed is readable; the resumed run comes to what it should."""
        readable(self.folder)
        if (self.folder / "experiment.toml").exists():
            in_this_process(self.folder)
            resume(self.folder)
        else:
            assert not (self.folder / "run.db").exists()
            run(experiment(content(self.kill.method, **SMALL)), self.folder)
        assert outcome(self.folder) == plain(self.kill.method)[0], "it came to something else"
        assert not list((self.folder / "checkpoint").glob("*.part"))


def in_this_process(folder: Path) -> None:
    """It goes on with another engine, which changes no bit."""
    sections = read(folder / "experiment.toml")[0]
    engine = {**sections.get("engine", {}), "name": "inprocess"}
    (folder / "experiment.toml").write_text(tomli_w.dumps({**sections, "engine": engine}))


def readable(folder: Path, models: bool = True) -> None:
    """Whatever is committed can be looked at at once; models too, where they are in the folder."""
    if not (folder / "run.db").exists():
        return
    with read_only(folder) as database:
        rounds = [at for (at,) in database.rows("SELECT round FROM rounds ORDER BY round")]
    assert rounds == list(range(len(rounds)))
    if rounds and models:
        load(folder)


@cache
def plain(method: str) -> tuple[dict[str, Any], int, float]:
    """What an undisturbed run comes to, how many steps it takes towards the disk, and seconds."""
    with tempfile.TemporaryDirectory() as home:
        spec, counted = Path(home) / "spec.toml", Path(home) / "steps"
        spec.write_text(tomli_w.dumps(content(method, **SMALL)))
        first = forking().Process(target=time.sleep, args=(0,))  # its server is there from now on
        first.start()
        first.join(PATIENT)
        began = time.monotonic()
        process = forking().Process(target=dying.tell, args=(spec, Path(home) / "run", counted))
        process.start()
        process.join(PATIENT)
        return outcome(Path(home) / "run"), int(counted.read_text()), time.monotonic() - began


def gone(pids: list[int], what: str) -> None:
    """Wait until none of these processes is there."""
    end = time.monotonic() + PATIENT
    while any(Path(f"/proc/{pid}").exists() and not _zombie(pid) for pid in pids):
        assert time.monotonic() < end, f"{what} does not end"
        time.sleep(0.02)


def _zombie(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return ") Z " in Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return True


def strike(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# The ways to die --------------------------------------------------------------------------------


def at_a_step(home: Path, kill: Kill, sooner: float, state: str = "memory") -> None:
    """The whole run, at its K-th step towards the disk: the same step each time."""
    place = Place(home, kill, engine__state=state)
    fatal = kill.chance().randint(1, plain(kill.method)[1])
    target = forking().Process(target=dying.quiet, args=(fatal, place.spec, place.folder, False))
    target.start()
    target.join(PATIENT)
    assert target.exitcode == -signal.SIGKILL, target.exitcode
    place.gone_on_with()


def at_a_moment(home: Path, kill: Kill, sooner: float, **engine: Any) -> None:
    """The whole run, from outside: its workers too, if it has any."""
    place = Place(home, kill, **engine)
    process = place.start()
    process.join(_moment(kill, sooner))
    over = process.exitcode is not None
    assert process.pid is not None
    strike([process.pid, *place.workers()])
    process.join(PATIENT)
    if over:
        raise TooLate
    gone(place.workers(), "a worker that was killed")
    place.gone_on_with()


def only_the_coordinator(home: Path, kill: Kill, sooner: float) -> None:
    """Its workers end by themselves."""
    place = Place(home, kill, **TWO)
    process = place.start()
    process.join(_moment(kill, sooner))
    if process.exitcode is not None:
        raise TooLate
    assert process.pid is not None
    strike([process.pid])
    process.join(PATIENT)
    gone(place.workers(), "a worker without its coordinator")
    place.gone_on_with()


def one_worker(home: Path, kill: Kill, sooner: float) -> None:
    """The coordinator says so in one sentence, and ends."""
    place = Place(home, kill, **TWO)
    process = place.start()
    while len(place.workers()) < TWO["engine__workers"] and process.exitcode is None:
        process.join(0.005)  # before they are there, none of them can be killed
    process.join(_moment(kill, sooner))
    workers = place.workers()
    if process.exitcode is not None or not workers:
        raise TooLate
    strike([kill.chance().choice(workers)])
    process.join(PATIENT)
    if process.exitcode == 0:
        raise TooLate  # it had done its last work
    assert process.exitcode == ENDED, process.exitcode
    said = place.notes.with_suffix(".said").read_text(encoding="utf-8")
    assert "worker process" in said, said
    assert "\n" not in said, said
    gone(workers, "a worker of a run that is over")
    place.gone_on_with()


def _moment(kill: Kill, sooner: float) -> float:
    """Seconds after the start; each attempt that came too late makes the next one sooner."""
    return plain(kill.method)[2] * sooner * kill.chance().uniform(0.05, 1.0)


TWO: dict[str, Any] = {"engine__name": "processes", "engine__workers": 2}


def _elsewhere(name: str) -> Callable[[Path, Kill, float], None]:
    """Ways that need an extra: imported when they are met."""

    def meet(home: Path, kill: Kill, sooner: float) -> None:
        from tests.faults import schedule_deployed

        getattr(schedule_deployed, name)(home, kill, sooner)

    return meet


WAYS: dict[str, tuple[int, Callable[[Path, Kill, float], None]]] = {  # way → how often of 15
    "at a step, states in memory": (2, at_a_step),
    "at a step, states on disk": (2, partial(at_a_step, state="disk")),
    "at a moment, one process": (2, at_a_moment),
    "the whole group of processes": (2, partial(at_a_moment, **TWO)),
    "the coordinator of two workers": (1, only_the_coordinator),
    "one of two workers": (2, one_worker),
    "a node of a deployment": (2, _elsewhere("one_node")),
    "a deployment's server": (1, _elsewhere("the_server")),
    "a Ray actor": (1, _elsewhere("one_actor")),
}
POOLED = {"centralized"}  # no deployment of it


def schedule(number: int, seed: int) -> list[Kill]:
    """So many kills: 15 times the number of methods let each method meet each way."""
    methods = sorted(METHODS)
    random.Random(seed).shuffle(methods)
    ways = [way for way, (times, _) in WAYS.items() for _ in range(times)]
    found = []
    for k in range(number):
        way = ways[k % len(ways)]
        method = methods[(k // len(ways) + 7 * (k % len(ways))) % len(methods)]
        if method in POOLED and "deployment" in way:
            way = "at a moment, one process"
        found.append(Kill(k, way, method, seed))
    return found


def carried_out(kill: Kill) -> None:
    """One kill; raises AssertionError, or what went wrong."""
    sooner = 1.0
    for _ in range(LATE):
        with tempfile.TemporaryDirectory(prefix="fk-") as home, contextlib.suppress(TooLate):
            WAYS[kill.way][1](Path(home), kill, sooner)
            return
        sooner *= 0.5
    raise TooLate(f"{kill}: over before it was killed, {LATE} times")


def main(number: int, seed: int, first: int = 0, word: str = "") -> int:
    """Carry out the schedule from its ``first`` kill on; returns how many went wrong."""
    began, done, wrong, late = time.monotonic(), Counter[str](), 0, 0
    for kill in schedule(number, seed)[first:]:
        if word not in kill.way and word not in kill.method:
            continue
        try:
            carried_out(kill)
            done[kill.way] += 1
        except TooLate as error:
            late += 1
            print(f"late: {error}", flush=True)
        except Exception as error:
            wrong += 1
            print(f"wrong: {kill}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
        if (kill.number + 1) % 10 == 0:
            print(f"… {kill.number + 1}: {done.total()} kills, {wrong} wrong", flush=True)
    for way in WAYS:
        print(f"{way:34}{done[way]:5}")
    print(
        f"{done.total()} kills in {time.monotonic() - began:.0f} s, {wrong} wrong; "
        f"{late} more came too late: the run was over",
        flush=True,
    )
    return wrong
