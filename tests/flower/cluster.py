"""A deployment on loopback with real processes: a SuperLink, SuperNodes with their hosts, server
apps.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fedkin.flower.config import DEPLOYMENT, EXPERIMENT, NODE, Deployment, NodeConfig, load, text_of
from fedkin.flower.operator.site import init
from fedkin.runs.database import read_only
from fedkin.runs.spec import Spec
from tests.engine.small import small

NAMES = ("c0", "c1", "c2", "c3")
TABLES = ("metrics", "measures", "messages", "notes", "events")
FEDKIN = [sys.executable, "-m", "fedkin"]


def experiment(method: str, **settings: Any) -> Spec:
    """Four clients, full participation, five rounds; traced, as nodes trace."""
    run = {
        "run__clients": 4,
        "run__participation": 1.0,
        "run__rounds": 5,
        "engine__name": "inprocess",
    }
    return small(method, **{**run, **settings})


def result(folder: Path) -> dict[str, Any]:
    """What a run in one process and a run of a deployment must have in common: all but times, names
    and places.
    """
    with read_only(folder) as database:
        facts = database.facts()
        assert facts["finished"]
        rows = {
            table: sorted(database.rows(f"SELECT * FROM {table}"), key=repr) for table in TABLES
        }
        rows["rounds"] = database.rows(
            "SELECT round, phase, participants FROM rounds ORDER BY round"
        )
    return {"fingerprint": facts["fingerprint"], **rows}


class Cluster:
    """The processes of one deployment. Everything that was started ends in ``close``."""

    def __init__(
        self, spec: Spec, names: Sequence[str] = NAMES, own_data: bool = False, **deployment: Any
    ) -> None:
        self.home = Path(mkdtemp(prefix="fk-", dir="/tmp"))  # the path of a socket must be short
        self.folder = self.home / "d"
        self.names = names
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        ports = free_ports(len(names) + 1)
        self.port = ports[0]
        init(self.folder, spec, names, f"127.0.0.1:{ports[0]}", own_data=own_data)
        self.configure(**{"poll": 1.0, **deployment})
        for name, port in zip(names, ports[1:]):
            self.configure_node(name, port=port)

    def configure(self, **settings: Any) -> None:
        """Change deployment.toml."""
        found = load(Deployment, self.folder, DEPLOYMENT).model_copy(update=settings)
        (self.folder / DEPLOYMENT).write_text(text_of(found))

    def configure_node(self, name: str, **settings: Any) -> None:
        """Change a node.toml."""
        found = load(NodeConfig, self.node(name), NODE).model_copy(update=settings)
        (self.node(name) / NODE).write_text(text_of(found))

    def node(self, name: str) -> Path:
        """A node's folder."""
        return self.folder / "nodes" / name

    def train(self, spec: Spec) -> None:
        """Put another experiment in place, on the server and on every node."""
        other = self.home / "other"
        shutil.rmtree(other, ignore_errors=True)
        init(other, spec, self.names, "127.0.0.1:9", own_data=False, insecure=True)
        for folder in (self.folder, *(self.node(name) for name in self.names)):
            shutil.copy(other / EXPERIMENT, folder / EXPERIMENT)

    def up(self) -> "Cluster":
        """The SuperLink and every node."""
        self.start("superlink")
        for name in self.names:
            self.start(name)
        wait_for(lambda: "all nodes are registered" in self.log("superlink"), 180, self)
        return self

    def start(self, name: str, command: list[str] | None = None) -> subprocess.Popen[bytes]:
        """The SuperLink, a node, or any other command under a name."""
        verb = "superlink" if name == "superlink" else "node"
        place = (
            self.folder if name == "superlink" else self.node(name) if name in self.names else None
        )
        command = command or [*FEDKIN, "deploy", verb, str(place)]
        with open(self.home / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env=environment(),
                start_new_session=True,
                preexec_fn=listening,
            )
        self.processes[name] = process
        return process

    def run(self, *options: str, limit: float = 900) -> Path:
        """``fedkin deploy run`` to its end; the run directory."""
        process = self.begin(*options)
        assert process.wait(limit) == 0, self.log("run") + self.log("superlink")[-3000:]
        return self.last()

    def begin(self, *options: str) -> subprocess.Popen[bytes]:
        """``fedkin deploy run``, not waited for."""
        return self.start("run", [*FEDKIN, "deploy", "run", str(self.folder), *options])

    def last(self) -> Path:
        """The last run's directory."""
        return max((self.folder / "runs").iterdir(), key=lambda path: int(path.name))

    def round(self) -> int:
        """The last committed round of the last run, -1 before there is one."""
        try:
            with read_only(self.last()) as database:
                return database.last_round()
        except Exception:
            return -1

    def missing(self) -> list[tuple[int, int, str]]:
        """(round, client, reason) of the last run."""
        with read_only(self.last()) as database:
            return database.rows(
                "SELECT round, client, text FROM events WHERE kind = 'missing' ORDER BY "
                "round, client"
            )

    def log(self, name: str) -> str:
        """What a process said so far."""
        path = self.home / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def commits(self, name: str) -> list[int]:
        """The rounds whose states a node holds, over all runs."""
        stems = [path.stem for path in self.node(name).glob("state/*/*.commit")]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def server_apps(self) -> list[int]:
        """The processes of this deployment's server apps."""
        return [pid for pid in with_text("flwr-serverapp") if str(self.home) in environ(pid)]

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                kill(process.pid)
        for pid in with_text(str(self.home)):  # what a killed keeper has left
            kill(pid)
        shutil.rmtree(self.home, ignore_errors=True)


@contextmanager
def cluster(spec: Spec, **options: Any) -> Iterator[Cluster]:
    """``with cluster(spec) as running:``"""
    made = Cluster(spec, **options)
    try:
        yield made.up()
    finally:
        made.close()


def listening() -> None:
    """Tests that were started in the background have Ctrl-C ignored, and so would all that they
    start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def environment() -> dict[str, str]:
    """Several deployments share two cores here: their many processes look for work less often than
    they would.
    """
    rarely = {"FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "3"}
    return {**os.environ, **rarely, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(
    condition: Callable[[], object], seconds: float, running: Cluster | None = None
) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = (
                ""
                if running is None
                else json.dumps({name: running.log(name)[-1500:] for name in running.processes})
            )
            raise AssertionError(f"waited {seconds} seconds in vain. {logs}")
        time.sleep(0.2)


def with_text(text: str, also: str = "") -> list[int]:
    """Processes whose command line holds a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        pid = int(path.parent.name)
        if text in line and also in line and pid != os.getpid():
            found.append(pid)
    return found


def environ(pid: int) -> str:
    """The environment that a process was started with."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
