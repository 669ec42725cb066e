"""Keys are told to the SuperLink one at a time, and only those that it does not know; none of
Flower's programs runs.
"""

import json
import os
import socket
from typing import Any

import pytest

pytest.importorskip("flwr")

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator import registration
from fedkin.flower.operator.registration import Registration, register_now
from fedkin.flower.operator.site import add, init
from tests.engine.small import small
from tests.flower.operator.programs import HERE

SPEC = small("fedavg", run__clients=2, run__participation=1.0)
NAMES = ("north", "south")


def done(**said: Any) -> tuple[int, str, str]:
    return 0, "a word before " + json.dumps({"success": True, **said}, indent=2), ""


def listed(**status: str) -> tuple[int, str, str]:
    """Nodes by number (n1, n2, …) and what Flower says of each."""
    return done(nodes=[{"node-id": key[1:], "status": said} for key, said in status.items()])


def failed(why: str) -> tuple[int, str, str]:
    return 0, json.dumps({"success": False, "error-message": why}), ""


IN_USE = failed("Error: Public key already in use. [code: 23]")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A deployment with a newcomer, whose SuperLink listens."""
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    add(folder, "late")
    monkeypatch.setattr(registration, "listens", lambda _: True)
    return folder


def of(site, names=None):
    return Registration(site, load(Deployment, site, DEPLOYMENT), names)


def names_in(programs):
    """The names that were registered, and "" where nodes were listed."""
    found = [
        "" if command[2] == "list" else command[command.index("--name") + 1]
        for command in programs.asked
    ]
    programs.asked.clear()
    return found


def number(site, name):
    return (site / "keys" / f"{name}.node").read_text()


def test_a_first_start_registers_one_key_a_step(site, programs, capfd):
    work = of(site)
    assert work.attempt() is False
    assert programs.asked == []  # no number is known: there is nothing to compare a list with
    programs.answers = [done(**{"node-id": n}) for n in (17201362228390662664, 2, 3)]
    assert work.attempt() is False
    assert programs.asked == [
        [str(HERE / "flwr"), "supernode", "register", str(site / "keys" / "north.pub"),
         "deployment", "--name", "north", "--format", "json"]
    ]  # fmt: skip
    assert number(site, "north") == "17201362228390662664\n"
    assert [work.attempt(), work.attempt()] == [False, True]
    assert names_in(programs) == ["north", "south", "late"]
    assert set(programs.homes) == {str(site / "flower")}
    assert capfd.readouterr() == ("all nodes are registered\n", "")


def known(site, **numbers: int) -> None:
    for name, of_it in numbers.items():
        (site / "keys" / f"{name}.node").write_text(f"{of_it}\n")


def test_whom_the_superlink_lists_is_not_registered_again(site, programs, capfd):
    known(site, north=1, south=2, late=3)
    programs.answers = [listed(n1="online", n2="registered", n3="offline")]
    assert of(site).attempt() is True
    assert programs.asked == [
        [str(HERE / "flwr"), "supernode", "list", "deployment", "--format", "json"]
    ]
    assert capfd.readouterr().out == "all nodes are registered\n"
    # a database that was removed knows nobody: numbers of an earlier one say nothing
    programs.answers = [listed(), *(done(**{"node-id": n}) for n in (7, 8, 9))]
    work = of(site)
    assert [work.attempt() for _ in range(4)] == [False, False, False, True]
    assert number(site, "late") == "9\n"


@pytest.mark.parametrize("status", [{}, {"n2": "unregistered"}])
def test_a_key_that_was_revoked_is_not_called_registered(status, site, programs, capfd):
    known(site, north=1, south=2, late=3)
    programs.answers = [listed(n1="online", n3="online", **status), IN_USE]
    work = of(site)
    assert [work.attempt(), work.attempt()] == [False, True]
    assert names_in(programs) == ["", "south"]
    said = capfd.readouterr()
    assert said.out == "2 of 3 nodes are registered\n"
    assert said.err.startswith("warning: south is not registered: its key was revoked, and Flower")
    assert number(site, "south") == "2\n"


def test_a_key_in_use_whose_number_is_gone_and_one_that_is_not_there_are_told(
    site, programs, capfd
):
    known(site, north=1)
    (site / "keys" / "late.pub").unlink()
    programs.answers = [listed(n1="online", n2="online"), IN_USE]
    work = of(site)
    assert [work.attempt() for _ in range(3)] == [False, False, True]
    said = capfd.readouterr()
    assert said.out == "1 of 3 nodes are registered\n"
    assert "south is registered, or its key was revoked: it is not known which, for " in said.err
    assert "late is not registered: " in said.err
    assert "late.pub does not exist" in said.err


def test_what_fails_is_said_once_and_goes_on_at_the_same_key(site, programs, capfd, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(registration.time, "monotonic", lambda: now[0])
    work = of(site)
    work.attempt()
    programs.answers = [done(**{"node-id": 1}), failed("no\nroom")]
    assert [work.attempt(), work.attempt()] == [False, False]
    assert capfd.readouterr().err == (
        "keys are not registered yet: flwr supernode failed: no room\n"
    )
    assert work.attempt() is False  # the next try is after a pause
    assert names_in(programs) == ["north", "south"]
    now[0] += registration.PAUSE
    programs.answers = [failed("no room"), done(**{"node-id": 2}), done(**{"node-id": 3})]
    assert work.attempt() is False
    now[0] += registration.PAUSE
    assert [work.attempt(), work.attempt()] == [False, True]
    assert names_in(programs) == ["south", "south", "late"]
    assert capfd.readouterr() == ("all nodes are registered\n", "")


def test_a_superlink_that_does_not_listen_yet_is_no_mistake(site, programs, capfd, monkeypatch):
    monkeypatch.setattr(registration, "listens", lambda _: False)
    work = of(site)
    assert [work.attempt(), work.attempt()] == [False, False]
    assert register_now(site, "late") is False
    assert programs.asked == []
    assert capfd.readouterr() == ("", "")


def test_a_node_that_is_added_is_registered_alone(site, programs):
    known(site, north=1, south=2)
    programs.answers = [done(**{"node-id": 3})]
    before = os.umask(0)
    try:
        assert register_now(site, "late") is True
    finally:
        os.umask(before)
    assert names_in(programs) == ["late"]
    assert number(site, "late") == "3\n"
    assert (site / "flower").stat().st_mode & 0o777 == 0o700
    (site / "keys" / "late.node").unlink()
    programs.answers = [IN_USE]
    with pytest.raises(FedkinError, match=r"^late is registered, or its key was revoked"):
        register_now(site, "late")
    programs.answers = [failed("no room")]
    with pytest.raises(FedkinError, match="no room"):
        register_now(site, "late")


def test_without_keys_nothing_is_registered(tmp_path, programs, monkeypatch):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    monkeypatch.setattr(registration, "listens", lambda _: pytest.fail("it has no registration"))
    assert register_now(folder, "north") is False
    assert programs.asked == []


def test_whether_the_superlink_listens_is_looked_at_where_it_binds():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"192.0.2.7:{server.getsockname()[1]}"  # this machine's name elsewhere
        there = Deployment(address=address, listen="127.0.0.1", clients=NAMES)
        assert registration.listens(there)
    assert not registration.listens(there)  # nobody listens any more


def test_an_address_of_ipv6_is_dialled_without_its_brackets(monkeypatch):
    dialled = []

    def dial(*told):
        dialled.append(told)
        return socket.socket()

    monkeypatch.setattr(registration.socket, "create_connection", dial)
    assert registration.listens(Deployment(address="[::1]:9092", clients=NAMES))
    assert dialled == [(("::1", 9092), 2)]
