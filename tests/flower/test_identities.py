"""What a node takes for its own key and for the others': files that somebody handed over."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from fedkin.core.errors import FedkinError
from fedkin.flower.identities import OWN, PEERS, identity, verifier
from fedkin.flower.operator.keys import node_key

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


def test_a_signature_is_of_its_node_its_text_and_its_experiment(folder: Path) -> None:
    sign, verify = identity(folder, "one")[:2]
    signed = sign(b"keys")
    assert verify(1, b"keys", signed)
    for client, text in ((0, b"keys"), (2, b"keys"), (-1, b"keys"), (1, b"others")):
        assert not verify(client, text, signed)
    assert not verify(1, b"keys", signed[:-1])
    assert not verifier(folder, "two")(1, b"keys", signed)
    (folder / PEERS).write_bytes(b"".join(reversed((folder / PEERS).read_bytes().splitlines(True))))
    assert verifier(folder, "one")(0, b"keys", signed)


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
        verifier(folder, "one")


def test_a_list_or_a_key_that_is_no_file(folder: Path) -> None:
    own = (folder / OWN).read_bytes()
    for wrong in (b"", b"no key", OTHER.private_bytes(PEM, PRIVATE, NOBODY), own[:200]):
        (folder / OWN).write_bytes(wrong)
        with pytest.raises(FedkinError, match=r"node\.key (cannot be read|is no ECDSA key)"):
            identity(folder, "one")
    for name in (OWN, PEERS):
        (folder / name).unlink()
        os.mkfifo(folder / name)  # who opens it waits for ever
    with pytest.raises(FedkinError, match=r"node\.key cannot be read"):
        identity(folder, "one")
    with pytest.raises(FedkinError, match=r"clients\.pub cannot be read"):
        verifier(folder, "one")


def test_a_key_and_a_list_have_a_size(folder: Path) -> None:
    """Whoever hands over a huge file fills no memory."""
    path = folder / OWN
    own = path.read_bytes()
    path.write_bytes(own + b"\n" * ((1 << 16) - len(own)))
    assert identity(folder, "one").sign(b"keys")
    path.write_bytes(own + b"\n" * ((1 << 16) + 1 - len(own)))
    with pytest.raises(FedkinError, match=r"node\.key cannot be read"):
        identity(folder, "one")
    os.truncate(folder / PEERS, (1 << 28) + 1)  # of which the disk holds nothing
    with pytest.raises(FedkinError, match=r"clients\.pub cannot be read"):
        verifier(folder, "one")
