"""Addresses that a superlink binds."""

import re
import socket

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.address import host_of, listening, local_address, loopback
from fedkin.flower.config import Deployment, NodeConfig, made
from fedkin.flower.operator import supervisor
from fedkin.flower.operator.site import init
from tests.engine.small import small

pytest.importorskip("flwr")


SPEC = small("fedavg", run__clients=2, run__participation=1.0)


NAMES = ("north", "south")


@pytest.fixture
def commands(monkeypatch):
    """The commands that a supervisor would run."""
    seen = []

    class Keeper:
        def __init__(self, commands, environment):
            seen.append(commands)

        def run(self, *_):
            pass

    monkeypatch.setattr(supervisor, "Keeper", Keeper)
    return seen


def test_an_address_of_another_machine_is_not_bound_in_silence(tmp_path, commands):
    folder = init(tmp_path / "site", SPEC, NAMES, "192.0.2.7:9092")  # TEST-NET: nobody's
    with pytest.raises(FedkinError, match=r"cannot listen on 192.0.2.7 .*: name an address of"):
        supervisor.superlink(folder)
    assert not commands
    found = init(tmp_path / "behind", SPEC, NAMES, "192.0.2.7:9092", listen="127.0.0.1")
    supervisor.superlink(found)
    assert local_address("192.0.2.7:9092", "127.0.0.1") == "127.0.0.1:9092"
    assert local_address("192.0.2.7:9092", None) == "192.0.2.7:9092"
    assert local_address("fl.example.org:9092", "::") == "127.0.0.1:9092"
    assert local_address("fl.example.org:9092", "::1") == "[::1]:9092"
    assert listening("localhost:1", None) == "localhost"


def test_a_port_of_all_addresses_is_not_needed_for_one():
    with socket.socket() as probe:
        probe.bind((listening("127.0.0.1:1", None), 0))
        assert probe.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "host", "here"),
    [
        ("a.example:1", "a.example", False),
        ("127.0.0.9:65535", "127.0.0.9", True),
        ("localhost:9", "localhost", True),
        ("[::1]:9", "::1", True),
        ("0.0.0.0:9", "0.0.0.0", False),
    ],
)
def test_an_address_is_a_host_and_a_port(address, host, here):
    assert host_of(address) == host
    assert loopback(address) is here


@pytest.mark.parametrize("address", ["0.0.0.0:9092", "[::]:9092", "::0:9092"])
def test_nodes_cannot_dial_all_addresses_of_a_machine(address, tmp_path):
    said = f"nodes cannot dial {re.escape(address)}, give the address that they reach"
    with pytest.raises(
        FedkinError, match=f"^--address: {said}; --listen [0.:]+ lets the SuperLink"
    ):
        init(tmp_path / "site", SPEC, NAMES, address)
    assert not (tmp_path / "site").exists()
    with pytest.raises(
        FedkinError, match=f'^d.toml: address: {said}; listen = "[0.:]+" lets the Sup'
    ):
        made(Deployment, "d.toml", {"address": address, "clients": NAMES})
    with pytest.raises(FedkinError, match=f"^n.toml: superlink: {said}$"):
        made(NodeConfig, "n.toml", {"superlink": address, "client": "north"})


@pytest.mark.parametrize("address", ["a:0", "a:65536", "a:x", ":9", "a", "a:", "9"])
def test_what_is_no_address_is_told(address):
    with pytest.raises(FedkinError, match=f"^address '{address}' is not host:port$"):
        host_of(address)


def test_any_port_tells_whether_an_address_can_be_bound(monkeypatch):
    bound = []

    class Probe:
        def __init__(self, family, kind):
            assert (family, kind) == (socket.AF_INET, socket.SOCK_STREAM)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def bind(self, at):
            bound.append(at)

    monkeypatch.setattr(socket, "socket", Probe)
    assert listening("fl.example:9092", "127.0.0.1") == "127.0.0.1"
    assert bound == [("127.0.0.1", 0)]  # the SuperLink's own may be in use, by itself
