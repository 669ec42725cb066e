"""Certificates for the SuperLink and a key for every node, made with the library that Flower
brings.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedkin.core.errors import FedkinError, many
from fedkin.core.files import write_file, write_secret

DAYS = 365
WARNING = 30  # days before a certificate expires


def certificates(folder: Path, hosts: Sequence[str], anew: bool = True) -> None:
    """Write ca.crt, server.crt, server.key, and ca.key where it is new. The server's is for
    ``hosts``, and for loopback.

    Args:
        folder: Is made where it is not there.
        hosts: Names or addresses; the first one is the subject.
        anew: Whether the authority gets a new key; else its key stays as it is, perhaps a link to
            where it is kept, and nodes with the old ca.crt are served too.

    Raises:
        FedkinError: The authority's key is to stay, and is not there.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = ec.generate_private_key(ec.SECP256R1()) if anew else authority_of(folder)
    server, host = ec.generate_private_key(ec.SECP256R1()), hosts[0]
    issuer, subject = _name("fedkin authority"), _name(host)
    ca = (
        _certificate(issuer, issuer, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority, hashes.SHA256())
    )
    names = dict.fromkeys([*hosts, "localhost", "127.0.0.1"])
    crt = (
        _certificate(subject, issuer, server)
        .add_extension(
            x509.SubjectAlternativeName([_address(name) for name in names]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()),
            critical=False,
        )
        .sign(authority, hashes.SHA256())
    )
    for name, certificate, key in (("ca", ca, authority), ("server", crt, server)):
        write_file(folder / f"{name}.crt", certificate.public_bytes(serialization.Encoding.PEM))
        if key is server or anew:
            private = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            write_secret(folder / f"{name}.key", private)


def authority_of(folder: Path) -> ec.EllipticCurvePrivateKey:
    """The key that signs certificates.

    Args:
        folder: Of certificates.

    Returns:
        The key in ca.key.

    Raises:
        FedkinError: It is not there, or no key of fedkin's.
    """
    path = folder / "ca.key"
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        raise FedkinError(
            f"{path} cannot be read: it signs certificates, bring it back from where it is kept"
        ) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise FedkinError(f"{path} is no key of fedkin: sign new certificates as you made these")
    return key


def expiry(path: Path, remedy: str) -> str | None:
    """A warning where a certificate expires soon, or where this machine's clock is before it; that
    is no error, for the clock may be set meanwhile.

    Args:
        path: Of the certificate.
        remedy: What to do, for the sentence.

    Returns:
        A sentence, or None.

    Raises:
        FedkinError: It has expired, or cannot be read.
    """
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        raise FedkinError(f"{path} is no certificate that can be read: {remedy}") from None
    now = datetime.datetime.now(datetime.UTC)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now < begin:
        return (
            f"{path} is valid from {begin:%Y-%m-%d %H:%M} UTC, and this machine's clock says "
            f"{now:%Y-%m-%d %H:%M}: set it (NTP); until then nothing connects"
        )
    left = (end - now).days
    if left < 0:
        raise FedkinError(f"{path} has expired on {end:%Y-%m-%d}: {remedy}")
    if left < WARNING:
        return f"{path} expires on {end:%Y-%m-%d}, in {many(left, 'day')}: {remedy}"
    return None


def node_key(private: Path, public: Path) -> None:
    """An ECDSA key on P-384 in OpenSSH's form, as Flower's registration takes it.

    Args:
        private: Where the private key goes, which only its owner can read.
        public: Where the public one goes.
    """
    key = ec.generate_private_key(ec.SECP384R1())
    write_secret(
        private,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        ),
    )
    line = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    write_file(public, line + b" " + private.parent.name.encode() + b"\n")


def _name(text: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "fedkin"),
            x509.NameAttribute(NameOID.COMMON_NAME, text[:64]),
        ]
    )


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _address(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
