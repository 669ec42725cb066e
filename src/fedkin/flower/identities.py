"""Who a node is to the others: the keys that are registered, of which each folder has a list.

The server passes messages on. It cannot sign for a node, nor change a node's list of keys.
"""

from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from fedkin.core.errors import FedkinError
from fedkin.core.files import read_file, write_file
from fedkin.masks.signatures import SIGNATURE, Identity, Verify
from fedkin.runs.spec import Spec

PEERS = "clients.pub"  # beside experiment.toml: a client's public key a line, in their order
OWN = "node.key"
KEY, LIST = 1 << 16, 1 << 28  # bytes of a private key; of everybody's public ones, 250 each
HALF = SIGNATURE // 2
ECDSA = ec.ECDSA(hashes.SHA384())


def masked(spec: Spec, insecure: bool) -> bool:
    """Whether nodes of an experiment sign the keys of their masks, and who survived: those that
    have keys do.

    Args:
        spec: The experiment.
        insecure: Whether nodes have no keys (loopback only).

    Returns:
        False without masks.
    """
    return spec.privacy.secure_aggregation is not None and not insecure


def write_peers(folder: Path, keys: Path, clients: Sequence[str]) -> None:
    """Write a folder's list of everybody's public keys.

    Args:
        folder: Of a node, or of the deployment.
        keys: Where NAME.pub of each client lies.
        clients: Their names, in order.
    """
    lines = [(keys / f"{client}.pub").read_bytes().strip() + b"\n" for client in clients]
    write_file(folder / PEERS, b"".join(lines))


def lists_in_order(folder: Path, keys: Path, clients: Sequence[str]) -> bool:
    """Whether a folder's list begins with the keys of these clients.

    Args:
        folder: Of the deployment.
        keys: Where NAME.pub of each client lies.
        clients: Their names, in order.

    Returns:
        True also where a key is not there to be compared.
    """
    files = [keys / f"{client}.pub" for client in clients]
    if not all(path.is_file() for path in files):
        return True
    try:
        lines = read_file(folder / PEERS, LIST).splitlines()[: len(files)]
    except OSError:
        return False
    own = [read_file(path, KEY) for path in files]
    return [line.split()[:2] for line in lines] == [line.split()[:2] for line in own]


def verifier(folder: Path, experiment: str, run: str) -> Verify:
    """What tells clients' signatures from others', by a folder's list.

    Args:
        folder: Of a node, or of the deployment.
        experiment: Its fingerprint: a signature is of one experiment.
        run: As its server calls it: and of one run, or a server could put keys of an earlier one,
            which it has opened there, in the place of a node's, and have sums of fewer clients.

    Returns:
        (client, text, its signature) → whether the client signed the text.

    Raises:
        FedkinError: The list is not there, or is none.
    """
    known = _peers(folder / PEERS)

    def verify(client: int, text: bytes, signature: bytes) -> bool:
        if not 0 <= client < len(known) or len(signature) != SIGNATURE:
            return False
        r, s = (int.from_bytes(part, "big") for part in (signature[:HALF], signature[HALF:]))
        try:
            known[client].verify(encode_dss_signature(r, s), _about(experiment, run, text), ECDSA)
        except InvalidSignature:
            return False
        return True

    return verify


def identity(folder: Path, experiment: str, run: str) -> Identity:
    """What a node signs with in secure aggregation, and knows the others' signatures by.

    Args:
        folder: The node's.
        experiment: Its fingerprint.
        run: As its server calls it.

    Returns:
        What signs a text, and what tells others' signatures.

    Raises:
        FedkinError: Its key, or its list of the others', cannot be read.
    """
    path = folder / OWN
    try:
        own = serialization.load_ssh_private_key(read_file(path, KEY), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        raise FedkinError(f"{path} cannot be read: bring the node's key back") from None
    if not isinstance(own, ec.EllipticCurvePrivateKey) or own.curve.key_size != 384:
        raise FedkinError(f"{path} is no ECDSA key on P-384, which fedkin deploy init makes")

    def sign(text: bytes) -> bytes:
        r, s = decode_dss_signature(own.sign(_about(experiment, run, text), ECDSA))
        both: bytes = r.to_bytes(HALF, "big") + s.to_bytes(HALF, "big")
        return both

    return Identity(sign, verifier(folder, experiment, run))


def _about(experiment: str, run: str, text: bytes) -> bytes:
    return f"{experiment}:{run}:".encode() + text


def _peers(path: Path) -> list[ec.EllipticCurvePublicKey]:
    remedy = "bring it back from the deployment's folder, or from another node's"
    try:
        lines = read_file(path, LIST).splitlines()
    except OSError:
        raise FedkinError(
            f"{path} cannot be read, by which nodes know each other's keys of secure aggregation: "
            f"{remedy}"
        ) from None
    keys = []
    for number, line in enumerate(lines, 1):
        try:
            key = serialization.load_ssh_public_key(line)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.key_size != 384:
            raise FedkinError(f"{path}: line {number} is no ECDSA key on P-384: {remedy}")
        keys.append(key)
    return keys
