"""Certificates of a federation."""

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator import keys, supervisor
from fedkin.flower.operator.site import init, renew
from tests.engine.small import small

pytest.importorskip("flwr")


SPEC = small("fedavg", run__clients=2, run__participation=1.0)


NAMES = ("north", "south")


def ends(path):
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc


def test_certificates_are_renewed_with_the_same_authority(short_path, monkeypatch, kept, capsys):
    monkeypatch.setattr(keys, "DAYS", 20)
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092", listen="127.0.0.2")
    supervisor.superlink(folder)
    said = capsys.readouterr().err
    assert f"fedkin deploy renew {folder}" in said
    assert "server.crt expires on" in said
    assert "in 19 days" in said
    supervisor.node(folder / "nodes" / "south")
    assert "ca.crt expires on" in capsys.readouterr().err
    old = x509.load_pem_x509_certificate((folder / "certs" / "ca.crt").read_bytes())
    monkeypatch.setattr(keys, "DAYS", 365)
    key, elsewhere = folder / "certs" / "ca.key", short_path / "stick.key"
    key.rename(elsewhere)
    key.symlink_to(elsewhere)
    assert renew(folder) == ["north", "south"]
    assert key.is_symlink()  # the key stays where it is kept
    server = x509.load_pem_x509_certificate((folder / "certs" / "server.crt").read_bytes())
    server.verify_directly_issued_by(old)  # a node that has the old ca.crt is served until it ends
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    found = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    assert found == {"127.0.0.1", "127.0.0.2"}
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=360)
    for path in (folder / "certs" / "ca.crt", folder / "nodes" / "north" / "ca.crt"):
        assert ends(path) > later
    supervisor.superlink(folder)
    assert not capsys.readouterr().err


def test_a_clock_that_is_before_a_certificate_is_told(tmp_path, monkeypatch):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime(1970, 1, 1, tzinfo=tz)

    keys.certificates(tmp_path, ["127.0.0.1"])
    begun = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=5)
    monkeypatch.setattr(keys.datetime, "datetime", Clock)
    said = keys.expiry(tmp_path / "ca.crt", "ask for another one")
    assert said.startswith(f"{tmp_path / 'ca.crt'} is valid from {begun:%Y-%m-%d}")
    assert "this machine's clock says 1970-01-01 00:00: set it" in said


def test_an_expired_certificate_starts_nothing(short_path, monkeypatch, kept):
    monkeypatch.setattr(keys, "DAYS", 0)
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    for start, where in ((supervisor.superlink, folder), (supervisor.node, folder / "nodes/north")):
        with pytest.raises(FedkinError, match=r"has expired on .*renew"):
            start(where)
    assert not kept
    (folder / "certs" / "ca.key").unlink()
    with pytest.raises(FedkinError, match=r"ca.key cannot be read: .* bring it back"):
        renew(folder)
    plain = init(short_path / "plain", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    with pytest.raises(FedkinError, match="no certificates"):
        renew(plain)
    assert load(Deployment, folder, DEPLOYMENT).listen is None


def extension(certificate, kind):
    found = certificate.extensions.get_extension_for_class(kind)
    return found.critical, found.value


def test_a_certificate_says_what_it_is_for(tmp_path):
    keys.certificates(tmp_path / "new" / "certs", ["fl.example.org", "10.1.2.3", "h" * 70])
    folder = tmp_path / "new" / "certs"
    assert folder.stat().st_mode & 0o777 == 0o700
    ca, server = (
        x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
        for name in ("ca", "server")
    )
    now = datetime.datetime.now(datetime.UTC)
    for one, signs in ((ca, True), (server, False)):
        critical, usage = extension(one, x509.KeyUsage)
        assert critical
        assert (usage.key_cert_sign, usage.crl_sign) == (signs, signs)
        assert usage.digital_signature is not signs
        assert not (usage.content_commitment)
        assert not (usage.key_encipherment)
        assert not (usage.key_agreement)
        assert not usage.data_encipherment
        critical, constraints = extension(one, x509.BasicConstraints)
        assert critical
        assert (constraints.ca, constraints.path_length) == (signs, 0 if signs else None)
        critical, identifier = extension(one, x509.SubjectKeyIdentifier)
        assert not critical
        assert identifier == x509.SubjectKeyIdentifier.from_public_key(one.public_key())
        days = datetime.timedelta(days=365)
        assert abs(one.not_valid_after_utc - now - days) < datetime.timedelta(minutes=1)
        early = now - one.not_valid_before_utc - datetime.timedelta(minutes=5)
        assert abs(early) < datetime.timedelta(seconds=45)
        assert one.issuer == ca.subject
    assert server.subject.rfc4514_string() == "CN=fl.example.org,O=fedkin"
    assert ca.subject.rfc4514_string() == "CN=fedkin authority,O=fedkin"
    critical, names = extension(server, x509.SubjectAlternativeName)
    assert not critical
    assert names.get_values_for_type(x509.DNSName) == ["fl.example.org", "h" * 70, "localhost"]
    found = [str(one) for one in names.get_values_for_type(x509.IPAddress)]
    assert found == ["10.1.2.3", "127.0.0.1"]
    critical, use = extension(server, x509.ExtendedKeyUsage)
    assert not critical
    assert list(use) == [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]
    critical, authority = extension(server, x509.AuthorityKeyIdentifier)
    assert not critical
    assert authority == x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key())
    assert keys.authority_of(folder).public_key() == ca.public_key()
    again = ca.public_key()
    keys.certificates(folder, ["h" * 70], anew=False)
    assert keys.authority_of(folder).public_key() == again
    server = x509.load_pem_x509_certificate((folder / "server.crt").read_bytes())
    assert server.subject.rfc4514_string() == f"CN={'h' * 64},O=fedkin"
    keys.certificates(folder, ["a"])
    assert keys.authority_of(folder).public_key() != again


@pytest.mark.parametrize(("days", "said"), [(31, None), (30, "in 29 days"), (1, "in 0 days")])
def test_a_certificate_warns_for_thirty_days(days, said, tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "DAYS", days)
    keys.certificates(tmp_path, ["a"])
    found = keys.expiry(tmp_path / "ca.crt", "do")
    assert (found is None) if said is None else (said in found)


def test_what_is_no_authoritys_key_signs_nothing(tmp_path):
    rsa_key = rsa.generate_private_key(65537, 2048)
    told = rsa_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "ca.key").write_bytes(told)
    with pytest.raises(FedkinError, match="is no key of fedkin"):
        keys.certificates(tmp_path, ["a"], anew=False)
    (tmp_path / "ca.crt").write_bytes(b"none")
    with pytest.raises(FedkinError, match="is no certificate that can be read: do"):
        keys.expiry(tmp_path / "ca.crt", "do")


def test_a_nodes_key_is_its_owners_and_is_named(tmp_path):
    (tmp_path / "north").mkdir()
    private, public = tmp_path / "north" / "node.key", tmp_path / "north.pub"
    keys.node_key(private, public)
    assert private.stat().st_mode & 0o777 == 0o600
    own = serialization.load_ssh_private_key(private.read_bytes(), None)
    kind, _, name = public.read_bytes().split(b" ")
    assert (kind, name) == (b"ecdsa-sha2-nistp384", b"north\n")
    assert serialization.load_ssh_public_key(public.read_bytes()) == own.public_key()
