"""Certificates of a federation."""

import datetime

import pytest
from cryptography import x509

from fedkin.core.errors import FedkinError
from fedkin.flower.config import DEPLOYMENT, Deployment, load
from fedkin.flower.operator import keys, supervisor
from fedkin.flower.operator.site import init, renew
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

        def run(self, **_):
            pass

    monkeypatch.setattr(supervisor, "Keeper", Keeper)
    return seen


def ends(path):
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc


def test_certificates_are_renewed_with_the_same_authority(
    short_path, monkeypatch, commands, capsys
):
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
    assert renew(folder) == ["north", "south"]
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


def test_an_expired_certificate_starts_nothing(short_path, monkeypatch, commands):
    monkeypatch.setattr(keys, "DAYS", 0)
    folder = init(short_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    for start, where in ((supervisor.superlink, folder), (supervisor.node, folder / "nodes/north")):
        with pytest.raises(FedkinError, match=r"has expired on .*renew"):
            start(where)
    assert not commands
    (folder / "certs" / "ca.key").unlink()
    with pytest.raises(FedkinError, match=r"ca.key cannot be read: .* bring it back"):
        renew(folder)
    plain = init(short_path / "plain", SPEC, NAMES, "127.0.0.1:9092", insecure=True)
    with pytest.raises(FedkinError, match="no certificates"):
        renew(plain)
    assert load(Deployment, folder, DEPLOYMENT).listen is None
