"""What is asked of Flower's programs, and what is made of their answers; none of them runs."""

import os
import signal
import subprocess
import sys
import tomllib

import pytest

pytest.importorskip("flwr")

from flwr.common.config import parse_config_args

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator import supervisor
from fedkin.flower.operator.command_line import connection, settings
from fedkin.flower.operator.site import init
from tests.engine.small import small
from tests.flower.operator.programs import HERE

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


def asked_with(command, name):
    return command[command.index(name) + 1]


def test_a_superlink_has_certificates_and_registers_and_warns(tmp_path, kept, monkeypatch):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    registered, warned = [], []

    class Registration:
        def __init__(self, *told):
            registered.append(told)

        def attempt(self):
            return True

    monkeypatch.setattr(supervisor, "Registration", Registration)
    monkeypatch.setattr(supervisor, "warn_of", warned.append)
    before = os.umask(0o022)
    try:
        supervisor.superlink(folder)
        assert os.umask(before) == 0o077
    finally:
        os.umask(before)
    (keeper,) = kept
    (command,) = keeper.commands.values()
    assert command[0] == str(HERE / "flower-superlink")
    assert asked_with(command, "--port") == "9092"
    assert asked_with(command, "--database") == str(folder / "link.db")
    for name, file in (
        ("--ssl-ca-certfile", "ca.crt"),
        ("--ssl-certfile", "server.crt"),
        ("--ssl-keyfile", "server.key"),
    ):
        assert asked_with(command, name) == str(folder / "certs" / file)
    assert "--enable-supernode-auth" in command
    assert "--disable-runtime-dependency-installation" in command
    assert "--insecure" not in command
    home = folder / "flower"
    assert home.stat().st_mode & 0o777 == 0o700
    assert keeper.environment["FLWR_HOME"] == str(home)
    assert keeper.environment["FLWR_TELEMETRY_ENABLED"] == "0"
    assert keeper.environment["PATH"].split(os.pathsep)[0] == str(HERE)
    assert (
        f'root-certificates = "{folder / "certs" / "ca.crt"}"' in (home / "config.toml").read_text()
    )
    assert keeper.after() is True
    assert registered == [(folder, load(Deployment, folder, DEPLOYMENT))]
    assert warned == [folder]
    keeper.daily()
    assert warned == [folder] * 2


def test_without_certificates_nothing_is_registered(short_path, kept):
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    supervisor.superlink(folder)
    (keeper,) = kept
    (command,) = keeper.commands.values()
    assert "--insecure" in command
    assert not [one for one in command if one.startswith(("--ssl", "--enable"))]
    assert keeper.running
    assert keeper.after is None
    assert "insecure = true" in (folder / "flower" / "config.toml").read_text()
    supervisor.node(folder / "nodes" / "north")
    command = kept[1].commands["supernode"]
    assert "--insecure" in command
    assert not [one for one in command if one.startswith(("--root", "--auth"))]


def test_a_supernode_knows_its_host_and_its_node_is_warned(short_path, kept, monkeypatch):
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092") / "nodes" / "south"
    warned = []
    monkeypatch.setattr(supervisor, "warn_of", warned.append)
    monkeypatch.setattr(supervisor.os, "umask", lambda _: None)
    supervisor.node(folder)
    (keeper,) = kept
    command = keeper.commands["supernode"]
    assert asked_with(command, "--port") == "9102"
    socket = folder / "state" / "host.socket"
    assert asked_with(command, "--node-config") == f'socket="{socket}" max-bytes={256 << 20}'
    assert "--insecure" not in command
    assert keeper.environment["FLWR_HOME"] == str(folder / "state" / "flower")
    assert keeper.running
    assert keeper.after is None
    keeper.daily()
    assert warned == [folder] * 2
    (folder / "node.key").chmod(0o601)
    with pytest.raises(FedkinError, match="can be read by others"):
        supervisor.node(folder)


class Process:
    """One that a Keeper started: it ends with ``returncode``, if that is a number."""

    def __init__(self, command, env, start_new_session, preexec_fn) -> None:
        assert start_new_session
        assert (preexec_fn is None) == (sys.platform != "linux")
        self.command, self.env, self.pid = command, env, 4_000_000 + len(command[0])
        self.returncode: int | None = None
        self.ended, self.waited = False, []

    def poll(self) -> int | None:
        return self.returncode

    def terminate(self) -> None:
        self.ended = True

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        if len(self.command[0]) > 1:
            raise subprocess.TimeoutExpired(self.command, seconds)


def test_a_keeper_waits_before_it_starts_again_and_ends_all(monkeypatch, capfd):
    now, started, killed = [0.5], [], []  # as soon as a machine is up

    def popen(*told, **named):
        started.append(Process(*told, **named))
        return started[-1]

    monkeypatch.setattr(supervisor.subprocess, "Popen", popen)
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(supervisor.os, "killpg", lambda *told: killed.append(told))
    keeper = supervisor.Keeper({"a": ["a"], "b": ["bb"]}, {"HERE": "1"})
    for name in "abab":
        keeper._look(name)
    assert [one.command for one in started] == [["a"], ["bb"]]
    assert started[0].env == {"HERE": "1"}
    started[0].returncode = 7
    keeper._look("a")
    assert "a ended with code 7: starting it again" in capfd.readouterr().err
    now[0] += 4.9
    keeper._look("a")
    assert len(started) == 2
    now[0] += 0.1
    keeper._look("a")
    assert [one.command for one in started] == [["a"], ["bb"], ["a"]]
    keeper._end()
    assert [one.ended for one in started] == [False, True, True]
    assert [one.waited for one in started] == [[], [15], [15]]
    # the first "a" as it was started again, then all
    assert sorted(killed) == [(pid, signal.SIGKILL) for pid in (4_000_001, 4_000_001, 4_000_002)]


def test_a_keeper_is_stopped_by_a_signal_and_speaks_once_a_day(monkeypatch):
    now, said, heard, slept = [0.0], [], {}, []
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(supervisor.signal, "signal", heard.__setitem__)

    def sleep(seconds):
        slept.append(seconds)
        now[0] += 6 * 3600
        if len(slept) == 13:
            heard[signal.SIGTERM](signal.SIGTERM, None)

    monkeypatch.setattr(supervisor.time, "sleep", sleep)
    supervisor.Keeper({}, {}).run(daily=lambda: said.append(now[0]))
    assert heard[signal.SIGINT] == heard[signal.SIGTERM]
    assert [round(at / 3600) for at in said] == [24, 48, 72]
    assert set(slept) == {0.5}
    supervisor.Keeper({}, {})  # whoever says nothing daily is run as well
    slept.clear()
    supervisor.Keeper({}, {}).run()


@pytest.mark.parametrize("name", ["a b", 'six"inch', "o'neil", "back\\slash", "é", "📊 study"])
def test_a_folder_may_have_any_name(name, tmp_path):
    folder = tmp_path / name
    told = settings(deployment=str(folder), out=str(folder / "runs" / "1"), join="")
    asked = {"deployment": str(folder), "out": str(folder / "runs" / "1"), "join": ""}
    assert parse_config_args([told]) == asked
    folder.mkdir()
    deployment = Deployment(address="127.0.0.1:9092", clients=("north",))
    text = (connection(folder, deployment) / "config.toml").read_text()
    link = tomllib.loads(text)["superlink"]["deployment"]
    assert link["root-certificates"] == str(folder / "certs" / "ca.crt")
