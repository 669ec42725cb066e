"""What the SuperLink binds, what is insecure and where, and certificates that end."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")


from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, NODE, NodeConfig, load
from fedkin.flower.operator import supervisor
from fedkin.flower.operator.registration import register_now
from fedkin.flower.operator.site import init
from tests.engine.small import small
from tests.flower.operator.programs import KEPT

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


@pytest.mark.parametrize(("listen", "bound"), [(None, "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
def test_the_superlink_binds_what_was_named(listen, bound, tmp_path, kept):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", listen=listen)
    supervisor.superlink(folder)
    command = kept[0].commands["superlink"]
    assert command[command.index("--host") + 1] == bound
    assert 'address = "127.0.0.1:9092"' in (folder / "flower" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('address = "127.0.0.1:9092"', 'address = "10.1.2.3:9092"'),
        ('address = "127.0.0.1:9092"', 'address = "127.0.0.1:9092"\nlisten = "0.0.0.0"'),
    ],
)
def test_insecure_is_checked_at_every_start(old, new, tmp_path, kept):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    supervisor.superlink(folder)
    path = folder / DEPLOYMENT
    path.write_text(path.read_text().replace(old, new))
    for start in (supervisor.superlink, lambda folder: register_now(folder, "north")):
        with pytest.raises(FedkinError, match="insecure is for this machine alone"):
            start(folder)
    assert len(kept) == 1


def test_a_node_is_not_started_insecurely_towards_another_machine(tmp_path, kept):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    path = folder / "nodes" / "north" / NODE
    path.write_text(path.read_text().replace("127.0.0.1:9092", "fl.example.org:9092"))
    with pytest.raises(FedkinError, match="insecure is for this machine alone"):
        supervisor.node(path.parent)
    path.write_text(path.read_text().replace("fl.example.org:9092", "fl.example.org"))
    with pytest.raises(FedkinError, match="is not host:port"):
        load(NodeConfig, path.parent, NODE)
    assert not kept


def test_a_node_is_its_host_and_its_supernode(short_path, kept):
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092") / "nodes" / "north"
    before = os.umask(0o022)
    try:
        supervisor.node(folder)
        assert os.umask(before) == 0o077
    finally:
        os.umask(before)
    (keeper,) = kept
    found = keeper.commands
    assert found["host"] == [sys.executable, "-m", supervisor.HOST, str(folder)]
    asked = dict(zip(found["supernode"][1::2], found["supernode"][2::2], strict=True))
    assert asked["--superlink"] == "127.0.0.1:9092"
    assert asked["--host"] == "127.0.0.1"
    assert asked["--root-certificates"] == str(folder / "ca.crt")
    assert asked["--auth-supernode-private-key"] == str(folder / "node.key")
    home = folder / load(NodeConfig, folder, NODE).state / "flower"
    assert home.stat().st_mode & 0o777 == 0o700
    (folder / "node.key").chmod(0o640)
    with pytest.raises(FedkinError, match="can be read by others"):
        supervisor.node(folder)
    (folder / "node.key").unlink()
    with pytest.raises(FedkinError, match="private key belongs there"):
        supervisor.node(folder)


MANY = 1200  # half seconds


def test_what_ends_is_started_again_and_nothing_outlives_its_keeper(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(supervisor, "PAUSE", 0.0)
    monkeypatch.setattr(supervisor, "DAY", 0.0)
    monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
    here = {"FOLDER": str(tmp_path), "PATH": os.environ["PATH"]}
    short = ["sh", "-c", 'echo here >> "${FOLDER:?}/short"; exit 3']
    keeper = supervisor.Keeper({"short": short, "long": ["sh", "-c", KEPT]}, here)
    tried, said = [], []

    def lines(name: str) -> list[str]:
        return (tmp_path / name).read_text().split() if (tmp_path / name).exists() else []

    def after() -> bool:
        tried.append(1)
        return len(tried) == 2

    def daily() -> None:
        said.append(1)
        if (len(lines("short")) > 1 and lines("long")) or len(said) > MANY:
            keeper._stop()
        raise FedkinError("a certificate expires")

    keeper.run(after, daily)
    pid, last = lines("long")  # started once, and let end by itself
    assert last == "ended"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    err = capfd.readouterr().err
    assert "short ended with code 3: starting it again" in err
    assert err.count("warning: a certificate expires") == len(said)
    assert len(tried) == 2  # not again, when it succeeded


def test_what_a_program_started_ends_before_it_is_started_again(tmp_path, monkeypatch):
    """A SuperNode that failed leaves processes of Flower, which would work beside new ones."""
    monkeypatch.setattr(supervisor, "PAUSE", 0.0)
    monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
    begun = tmp_path / "begun"
    short = ["sh", "-c", f"sleep 600 & echo $! >> {begun}; sleep 0.1; exit 3"]
    keeper = supervisor.Keeper({"short": short}, {"PATH": os.environ["PATH"]})
    alive: list[bool] = []

    def after() -> bool:
        pids = begun.read_text().split() if begun.exists() else []
        if len(pids) > 1:
            alive.append(_runs(int(pids[0])))
            keeper._stop()
        return False

    keeper.run(after)
    assert alive == [False]


def _runs(pid: int) -> bool:
    """Whether it is there, and no zombie that nobody has waited for."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
