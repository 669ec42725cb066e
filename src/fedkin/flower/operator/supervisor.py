"""What runs for long: the SuperLink, and on a node the SuperNode beside the host; what ends is
started again.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import not_here, tied_to_this
from fedkin.flower.address import listening
from fedkin.flower.commands import deploy, of_shell
from fedkin.flower.config import DEPLOYMENT, NODE, Deployment, NodeConfig, load, socket_of
from fedkin.flower.operator.command_line import connection, environment, program, settings
from fedkin.flower.operator.keys import expiry
from fedkin.flower.operator.registration import Registration
from fedkin.flower.operator.single_instance import single_instance

HOST = "fedkin.flower.node.host"  # the module that a node runs beside its SuperNode
DAY = 24 * 3600.0  # seconds
PAUSE = 5.0  # seconds before a process that ended is started again


def superlink(folder: Path) -> None:
    """Run the SuperLink until SIGTERM. Registers the nodes' keys once it answers.

    Args:
        folder: Of the deployment.

    Raises:
        FedkinError: Its certificates have expired, or the SuperLink cannot listen.
    """
    folder = folder.absolute()
    deployment = load(Deployment, folder, DEPLOYMENT)
    os.umask(0o077)
    home = connection(folder, deployment)
    port = deployment.address.rpartition(":")[2]
    listen = listening(deployment.address, deployment.listen)
    warn_of(folder)
    command = [
        program("flower-superlink"),
        "--host",
        listen,
        "--port",
        port,
        "--database",
        str(folder / "link.db"),
    ]
    command.append("--disable-runtime-dependency-installation")
    if deployment.insecure:
        command.append("--insecure")
    else:
        for name, file in (
            ("ca-certfile", "ca.crt"),
            ("certfile", "server.crt"),
            ("keyfile", "server.key"),
        ):
            command += [f"--ssl-{name}", str(folder / "certs" / file)]
        command.append("--enable-supernode-auth")
    after = None if deployment.insecure else Registration(folder, deployment).attempt
    with single_instance(folder, "superlink"):
        Keeper({"superlink": command}, environment(home)).run(after, partial(warn_of, folder))


def warn_of(folder: Path) -> None:
    """Say which certificates of a deployment or of a node expire soon.

    Args:
        folder: Of a deployment or of a node.

    Raises:
        FedkinError: One has expired.
    """
    for name, remedy in (
        ("certs/server.crt", deploy("renew", folder)),
        ("certs/ca.crt", deploy("renew", folder)),
        ("ca.crt", "ask the operator for a new one (fedkin deploy renew)"),
    ):
        path = folder / name
        if path.is_file() and (warning := expiry(path, remedy)) is not None:
            print(f"warning: {warning}", file=sys.stderr)


def node(folder: Path) -> None:
    """Run a node's host and its SuperNode until SIGTERM.

    Args:
        folder: Of the node.

    Raises:
        FedkinError: A file of it is missing, or a certificate has expired.
    """
    folder = folder.absolute()
    config = load(NodeConfig, folder, NODE)
    at = socket_of(folder, config)
    for name in ("node.key",) if not config.insecure else ():
        path = folder / name
        if not path.is_file():
            raise FedkinError(f"{path} does not exist: the node's private key belongs there")
        if path.stat().st_mode & 0o077:
            raise FedkinError(
                f"{path} can be read by others than its owner: {of_shell('chmod', '600', path)}"
            )
    warn_of(folder)
    os.umask(0o077)  # of all that the host and the SuperNode write
    home = folder / config.state / "flower"
    home.mkdir(parents=True, exist_ok=True)
    command = [program("flower-supernode"), "--superlink", config.superlink, "--host", "127.0.0.1"]
    command += [
        "--port",
        str(config.port),
        "--node-config",
        f"{settings(socket=str(at))} max-bytes={config.max_bytes}",
    ]
    if config.insecure:
        command.append("--insecure")
    else:
        command += ["--root-certificates", str(folder / "ca.crt")]
        command += ["--auth-supernode-private-key", str(folder / "node.key")]
    host = [sys.executable, "-m", HOST, str(folder)]
    with single_instance(folder, "node", folder / config.state):
        Keeper({"host": host, "supernode": command}, environment(home)).run(
            daily=partial(warn_of, folder)
        )


class Keeper:
    """Processes that run until this one is stopped.

    Args:
        commands: {name: the words of its command}.
        environment: {variable: value} of all of them.
    """

    def __init__(self, commands: Mapping[str, list[str]], environment: Mapping[str, str]) -> None:
        self.commands, self.environment = commands, environment
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._again: dict[str, float] = {}
        self._stopped = False
        self._tied = tied_to_this()

    def run(
        self,
        after: Callable[[], bool] | None = None,
        daily: Callable[[], None] | None = None,
    ) -> None:
        """Start all, and again what ends.

        Args:
            after: Tried until it succeeds.
            daily: What is to be said once a day, by a sentence or by an error.
        """
        last_line = time.monotonic()
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        try:
            while not self._stopped:
                for name in self.commands:
                    self._look(name)
                if after is not None and after():
                    after = None
                if daily is not None and time.monotonic() - last_line >= DAY:
                    last_line = time.monotonic()
                    try:
                        daily()
                    except FedkinError as error:
                        print(f"warning: {error}", file=sys.stderr)
                time.sleep(0.5)
        finally:
            self._end()

    def _look(self, name: str) -> None:
        process = self._running.get(name)
        if process is not None and process.poll() is not None:
            code = process.returncode
            _end_group(process)
            print(f"{name} ended with code {code}: starting it again", file=sys.stderr)
            del self._running[name]
            self._again[name] = time.monotonic() + PAUSE
        if name not in self._running and time.monotonic() >= self._again.get(name, 0):
            # a group of its own: Flower starts further processes, which must end with it
            self._running[name] = subprocess.Popen(
                self.commands[name],
                env=self.environment,
                start_new_session=True,
                preexec_fn=self._tied,
            )

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _end(self) -> None:
        for process in self._running.values():
            process.terminate()
        end = time.monotonic() + 15
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, end - time.monotonic()))
            _end_group(process)


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """What a process started, and left when it ended, ends too."""
    if sys.platform == "win32":
        not_here()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
