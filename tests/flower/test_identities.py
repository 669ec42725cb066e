"""What a node takes for its own key and for the others': files that somebody handed over."""

import os
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from fedkin.core.errors import FedkinError
from fedkin.flower.identities import OWN, PEERS, identity, verifier
from fedkin.flower.operator.keys import node_key
from fedkin.masks.agreement import Agreement
from fedkin.masks.client import MaskingClient
from fedkin.masks.keys import KEY, pair_of
from fedkin.masks.server import MaskedSum
from fedkin.masks.signatures import SIGNATURE
from fedkin.masks.terms import Terms
from fedkin.masks.wire import Refused, Stage, of_client, opened, sealed

SSH, PUBLIC = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
PRIVATE = serialization.PrivateFormat.OpenSSH
OTHER = ed25519.Ed25519PrivateKey.generate()
PEM, NOBODY = serialization.Encoding.PEM, serialization.NoEncryption()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One node that knows itself and another one."""
    for name in ("a", "b"):
        node_key(tmp_path / f"{name}.key", tmp_path / f"{name}.pub")
    (tmp_path / "a.key").rename(tmp_path / OWN)
    (tmp_path / PEERS).write_bytes(
        b"".join((tmp_path / f"{name}.pub").read_bytes().strip() + b"\n" for name in "ba")
    )
    return tmp_path


def test_a_signature_is_of_its_node_its_text_its_experiment_and_its_run(folder: Path) -> None:
    sign, verify = identity(folder, "one", "1")[:2]
    signed = sign(b"keys")
    assert verify(1, b"keys", signed)
    for client, text in ((0, b"keys"), (2, b"keys"), (-1, b"keys"), (1, b"others")):
        assert not verify(client, text, signed)
    assert not verify(1, b"keys", signed[:-1])
    assert not verifier(folder, "two", "1")(1, b"keys", signed)
    assert not verifier(folder, "one", "2")(1, b"keys", signed)
    (folder / PEERS).write_bytes(b"".join(reversed((folder / PEERS).read_bytes().splitlines(True))))
    assert verifier(folder, "one", "1")(0, b"keys", signed)


NODES, ROUND, LEAST, SIZE = 7, 1, 5, 3


def nodes(tmp_path: Path) -> list[Path]:
    """Folders of nodes that know each other."""
    public = []
    for client in range(NODES):
        folder = tmp_path / str(client)
        folder.mkdir()
        node_key(folder / OWN, folder / "own.pub")
        public.append((folder / "own.pub").read_bytes().strip() + b"\n")
    for client in range(NODES):
        (tmp_path / str(client) / PEERS).write_bytes(b"".join(public))
    return [tmp_path / str(client) for client in range(NODES)]


def in_run(folders: list[Path], run: str, clients: range) -> dict[int, MaskingClient]:
    """Clients in the first round of a run; every run begins with the same model."""
    return {
        one: MaskingClient(one, ROUND, LEAST, identity=identity(folders[one], "one", run))
        for one in clients
    }


def delivered(clients: dict[int, MaskingClient], server: MaskedSum) -> None:
    """A round until everybody has shared."""
    for one, client in clients.items():
        server.advertised(one, client.advertise())
    roster = server.roster()
    for one, client in clients.items():
        server.shared(one, client.share(roster))


def test_a_server_that_plays_keys_of_an_earlier_run_again_has_no_sum_of_too_few(
    tmp_path: Path,
) -> None:
    """In one run it says that a client dropped out, and has its masking key. In the next run that
    client, whom nobody asks, stands among those whose vectors arrived. So one client fewer is
    needed there, and the sum is of four clients, where five are the least.
    """
    folders = nodes(tmp_path)
    gone = NODES - 1
    first = in_run(folders, "1", range(NODES))
    verify = verifier(folders[0], "one", "1")
    server = MaskedSum(Terms(ROUND, LEAST, SIZE), range(NODES), 0, verify)
    delivered(first, server)
    values = {one: np.full(SIZE, 10**one, np.uint64) for one in range(NODES)}
    for one, client in list(first.items())[:gone]:
        server.masked(one, client.mask(server.delivery(one), lambda _, v=values[one]: v))
    asking = server.asking()
    for one in range(gone):
        server.agreed(one, first[one].agree(asking))
    signed = server.signed()
    for one in range(gone):
        server.revealed(one, first[one].reveal(signed))
    assert server.total().tolist() == [111111] * SIZE
    old = server._public[gone]
    assert server._secret(gone, lambda found: pair_of(found).public == old[KEY:])

    again = in_run(folders, "2", range(gone))
    keys = {}
    for one, client in again.items():
        (content,) = opened(
            Stage.ADVERTISE, ROUND, client.advertise(), 3 * KEY + SIGNATURE, 1
        ).entries
        keys[one] = content[: 2 * KEY] + content[3 * KEY :]
    keys[gone] = old + server._signatures[gone]
    listed = [of_client(one, keys[one]) for one in range(NODES)]
    roster = sealed(Stage.ROSTER, ROUND, listed, LEAST)
    for client in again.values():
        with pytest.raises(Refused, match="the keys of client 6 are not signed by its node"):
            client.share(roster)


def test_a_signature_of_survivors_is_of_one_run(tmp_path: Path) -> None:
    """Though its keys were the same: the identity says so by itself."""
    folders = nodes(tmp_path)
    told = Agreement(ROUND, LEAST, bytes(32), frozenset(range(NODES)))

    def sent(runs: list[str]) -> bytes:
        entries = []
        for one, run in enumerate(runs):
            signature = identity(folders[one], "one", run).sign(told.said_by(one))
            entries.append(of_client(one, signature))
        return sealed(Stage.SIGNED, ROUND, entries)

    verify = verifier(folders[0], "one", "1")
    told.check(sent(["1"] * LEAST), verify)
    with pytest.raises(Refused, match="client 3 did not sign the survivors that this client was t"):
        told.check(sent(["1", "1", "1", "2", "1", "1"]), verify)


@pytest.mark.parametrize(
    "line",
    [
        b"ssh-of-tomorrow AAAAB3NzaC1",
        b"",
        b"\xff\xfe",
        b"ecdsa-sha2-nistp384 AAAA",
        OTHER.public_key().public_bytes(SSH, PUBLIC),
    ],
    ids=("of tomorrow", "empty", "no text", "cut", "of another kind"),  # a key is another each time
)
def test_a_line_that_is_no_key_of_a_node(line: bytes, folder: Path) -> None:
    first = (folder / PEERS).read_bytes().splitlines()[0]
    (folder / PEERS).write_bytes(first + b"\n" + line + b"\n")
    with pytest.raises(FedkinError, match="line 2 is no ECDSA key on P-384"):
        verifier(folder, "one", "1")


def test_a_list_or_a_key_that_is_no_file(folder: Path) -> None:
    own = (folder / OWN).read_bytes()
    for wrong in (b"", b"no key", OTHER.private_bytes(PEM, PRIVATE, NOBODY), own[:200]):
        (folder / OWN).write_bytes(wrong)
        with pytest.raises(FedkinError, match=r"node\.key (cannot be read|is no ECDSA key)"):
            identity(folder, "one", "1")
    for name in (OWN, PEERS):
        (folder / name).unlink()
        os.mkfifo(folder / name)  # who opens it waits for ever
    with pytest.raises(FedkinError, match=r"node\.key cannot be read"):
        identity(folder, "one", "1")
    with pytest.raises(FedkinError, match=r"clients\.pub cannot be read"):
        verifier(folder, "one", "1")


def test_a_key_and_a_list_have_a_size(folder: Path) -> None:
    """Whoever hands over a huge file fills no memory."""
    path = folder / OWN
    own = path.read_bytes()
    path.write_bytes(own + b"\n" * ((1 << 16) - len(own)))
    assert identity(folder, "one", "1").sign(b"keys")
    path.write_bytes(own + b"\n" * ((1 << 16) + 1 - len(own)))
    with pytest.raises(FedkinError, match=r"node\.key cannot be read"):
        identity(folder, "one", "1")
    os.truncate(folder / PEERS, (1 << 28) + 1)  # of which the disk holds nothing
    with pytest.raises(FedkinError, match=r"clients\.pub cannot be read"):
        verifier(folder, "one", "1")
