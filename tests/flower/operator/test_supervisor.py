"""What the SuperLink binds, what is insecure and where, and certificates that end."""

import pytest

pytest.importorskip("flwr")


from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, NODE, NodeConfig, load
from fedkin.flower.operator import supervisor
from fedkin.flower.operator.site import init
from tests.engine.small import small

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


@pytest.fixture
def commands(monkeypatch):
    """The commands that a supervisor would run."""
    seen = []

    class Keeper:
        def __init__(self, commands, environment):
            seen.append(commands)

        def run(self, **_):
            pass

    monkeypatch.setattr(supervisor, "Keeper", Keeper)
    return seen


@pytest.mark.parametrize(("listen", "bound"), [(None, "127.0.0.1"), ("0.0.0.0", "0.0.0.0")])
def test_the_superlink_binds_what_was_named(listen, bound, tmp_path, commands):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", listen=listen)
    supervisor.superlink(folder)
    command = commands[0]["superlink"]
    assert command[command.index("--host") + 1] == bound
    assert 'address = "127.0.0.1:9092"' in (folder / "flower" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('address = "127.0.0.1:9092"', 'address = "10.1.2.3:9092"'),
        ('address = "127.0.0.1:9092"', 'address = "127.0.0.1:9092"\nlisten = "0.0.0.0"'),
    ],
)
def test_insecure_is_checked_at_every_start(old, new, tmp_path, commands):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    supervisor.superlink(folder)
    path = folder / DEPLOYMENT
    path.write_text(path.read_text().replace(old, new))
    for start in (supervisor.superlink, supervisor.register_now):
        with pytest.raises(FedkinError, match="insecure is for this machine alone"):
            start(folder)
    assert len(commands) == 1


def test_a_node_is_not_started_insecurely_towards_another_machine(tmp_path, commands):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    path = folder / "nodes" / "north" / NODE
    path.write_text(path.read_text().replace("127.0.0.1:9092", "fl.example.org:9092"))
    with pytest.raises(FedkinError, match="insecure is for this machine alone"):
        supervisor.node(path.parent)
    path.write_text(path.read_text().replace("fl.example.org:9092", "fl.example.org"))
    with pytest.raises(FedkinError, match="is not host:port"):
        load(NodeConfig, path.parent, NODE)
    assert not commands
