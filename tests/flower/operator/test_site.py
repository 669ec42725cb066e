"""What an operator's folder holds."""

import ipaddress
import os
import re
import shutil
import stat
import tomllib

import pytest
import tomli_w
from cryptography import x509
from typer.testing import CliRunner

from fedkin.cli import deploy
from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.identities import PEERS
from fedkin.flower.operator.site import add, hosts_of, init, renew
from fedkin.flower.operator.submit import prepared
from tests.engine.small import small

NAMES = ("north", "south")


SPEC = small("fedavg", run__clients=2, run__participation=1.0)
MASKED = small("fedavg", run__clients=2, run__participation=1.0, privacy__secure_aggregation=True)


def test_what_is_written(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "10.1.2.3:9092")
    assert folder.stat().st_mode & 0o077 == 0
    secrets = [
        folder / "certs" / "ca.key",
        folder / "certs" / "server.key",
        *folder.glob("nodes/*/node.key"),
    ]
    assert len(secrets) == 4
    assert all(path.stat().st_mode & 0o077 == 0 for path in secrets)
    server = x509.load_pem_x509_certificate((folder / "certs" / "server.crt").read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert ipaddress.ip_address("10.1.2.3") in names.get_values_for_type(x509.IPAddress)
    authority = x509.load_pem_x509_certificate((folder / "nodes" / "north" / "ca.crt").read_bytes())
    server.verify_directly_issued_by(authority)
    assert (folder / "nodes" / "north" / "node.key").read_bytes() != (
        folder / "nodes" / "south" / "node.key"
    ).read_bytes()
    assert config.fingerprint(config.spec_of(folder)) == config.fingerprint(
        config.spec_of(folder / "nodes" / "north")
    )
    # who signs the keys of masks is known everywhere, though this experiment asks for none
    peers = [(folder / "nodes" / name / PEERS).read_bytes() for name in NAMES]
    assert peers == [(folder / PEERS).read_bytes()] * 2
    assert [line.split()[:2] for line in peers[0].splitlines()] == [
        (folder / "keys" / f"{name}.pub").read_bytes().split()[:2] for name in NAMES
    ]
    manual = (folder / "README.md").read_text()
    assert "/v1/control" in manual
    assert "9092" in manual
    app = tomllib.loads((folder / "app" / "pyproject.toml").read_text())
    assert (
        app["tool"]["flwr"]["app"]["components"]["clientapp"] == "fedkin_deployment.client_app:app"
    )
    for script in (folder / "start-superlink", folder / "nodes" / "south" / "start"):
        assert script.stat().st_mode & 0o100


def test_every_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced, real = set(), os.fsync

    def fsync(file):
        number = os.fstat(file).st_ino
        real(file)
        if stat.S_ISDIR(os.fstat(file).st_mode):  # of one that has its name by now
            return
        named = [path for path in tmp_path.rglob("*") if path.stat().st_ino == number]
        assert [path.suffix for path in named] == [".part"]
        synced.add(number)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9092")
    add(folder, "late")
    assert {
        path for path in folder.rglob("*") if path.is_file() and path.stat().st_ino not in synced
    } == set()


def test_insecure_is_for_this_machine_only(tmp_path):
    for listen in ("0.0.0.0", "::", "10.1.2.3"):
        with pytest.raises(FedkinError, match=f"^--insecure is for .*, and {listen} is not a loop"):
            init(tmp_path / "site", SPEC, NAMES, "localhost:9092", insecure=True, listen=listen)
    for address in ("10.1.2.3:9092", "example.org:9092"):
        with pytest.raises(FedkinError, match="loopback"):
            init(tmp_path / "site", SPEC, NAMES, address, insecure=True)
        assert not (tmp_path / "site").exists()
    folder = init(tmp_path / "site", SPEC, NAMES, "localhost:9092", insecure=True)
    assert not (folder / "certs").exists()
    assert "this machine only" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("spec", "names", "address", "reason"),
    [
        (SPEC, ("a", "a"), "127.0.0.1:9", "a name of its own"),
        (SPEC, NAMES, "127.0.0.1", "host:port"),
        (small("centralized", run__clients=2), NAMES, "127.0.0.1:9", "nothing to deploy"),
        (
            small("fedavg", run__clients=2, engine__device="cuda"),
            NAMES,
            "127.0.0.1:9",
            "nodes compute on their CPU",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    spec, names, address, reason, tmp_path
):
    with pytest.raises(FedkinError, match=reason):
        init(tmp_path / "site", spec, names, address)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("site e", "try 'site-e'"), ("-e/..", "try 'e'"), ("é", ""), ("e" * 64, f"try '{'e' * 63}'")],
)
def test_a_name_that_no_node_can_have_is_told(name, hint, tmp_path):
    (tmp_path / "exp.toml").write_text(
        tomli_w.dumps(SPEC.model_dump(mode="json", exclude_none=True))
    )
    options = ["--spec", str(tmp_path / "exp.toml"), "--clients"]

    def command(verb: str, *arguments: str) -> BaseException | None:
        return CliRunner().invoke(deploy.app, [verb, str(tmp_path / "site"), *arguments]).exception

    first = command("init", *options, f"south,{name}")
    assert not (tmp_path / "site").exists()
    assert command("init", *options, "north,south") is None
    before = (tmp_path / "site" / config.DEPLOYMENT).read_text()
    second = command("add", "--", name)
    for error, where in ((first, "--clients"), (second, "NAME")):
        assert isinstance(error, FedkinError)
        assert str(error).startswith(f"{where}: {name!r} is no name for a node (")
        assert str(error).endswith(hint)
    assert sorted(path.name for path in (tmp_path / "site" / "nodes").iterdir()) == [
        "north",
        "south",
    ]
    assert (tmp_path / "site" / config.DEPLOYMENT).read_text() == before


def test_a_rehearsal_has_as_many_names_as_clients(tmp_path):
    with pytest.raises(
        FedkinError, match=r"run\.clients is 5, but --clients names 2: write run\.clients = 2 in"
    ):
        init(
            tmp_path / "site", small("fedavg", run__clients=5), NAMES, "127.0.0.1:9", own_data=False
        )


def test_a_rehearsals_nodes_find_a_file_that_was_named_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(
        "client,a,y\n" + "".join(f"{n % 2},{n},{n % 3}\n" for n in range(40))
    )
    spec = small("fedavg", run__clients=2, data__name="people.csv", split__name="natural")
    node = init(tmp_path / "site", spec, NAMES, "127.0.0.1:9", own_data=False) / "nodes" / "north"
    assert config.spec_of(node).data.name == str(tmp_path / "people.csv")


def test_a_node_that_was_cut_short_is_added_again_with_the_key_that_it_has(tmp_path, monkeypatch):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr("fedkin.flower.operator.site._script", stop)
        with pytest.raises(KeyboardInterrupt):
            add(folder, "late")
    assert config.load(config.Deployment, folder, config.DEPLOYMENT).newcomers == ()
    key = (folder / "nodes" / "late" / "node.key").read_bytes()
    settings = folder / "nodes" / "late" / "node.toml"
    settings.write_text(settings.read_text().replace("data.npz", "mine.csv"))
    add(folder, "late")
    assert config.load(config.Deployment, folder, config.DEPLOYMENT).newcomers == ("late",)
    assert (folder / "nodes" / "late" / "node.key").read_bytes() == key
    assert "mine.csv" in settings.read_text()
    assert (folder / "nodes" / "late" / "start").is_file()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(FedkinError, match="not empty"):
        init(tmp_path, SPEC, NAMES, "127.0.0.1:9")


def test_a_file_in_the_folders_place_is_told(tmp_path):
    (tmp_path / "mine").touch()
    for folder, why in (
        (tmp_path / "mine", f"{tmp_path / 'mine'} is a file: choose another folder"),
        (tmp_path / "mine" / "deep", f"{tmp_path / 'mine' / 'deep'} cannot be made: Not a dir"),
    ):
        with pytest.raises(FedkinError, match=f"^{re.escape(why)}"):
            init(folder, SPEC, NAMES, "127.0.0.1:9")


def node_of(folder, name):
    return config.load(config.NodeConfig, folder / "nodes" / name, config.NODE)


@pytest.mark.parametrize(("own", "secure"), [(True, True), (False, True), (True, False)])
def test_a_node_is_told_where_to_dial_and_has_a_port_of_its_own(own, secure, tmp_path):
    before = os.umask(0)
    try:
        folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9", own_data=own,
                      insecure=not secure, node_port=7000, listen="127.0.0.2")  # fmt: skip
        add(folder, "late")
        asked = ["add", str(folder), "later", "--port", "7"]
        assert CliRunner().invoke(deploy.app, asked).exception is None
    finally:
        os.umask(before)
    ports = {"north": 7000, "south": 7001, "late": 7002, "later": 7}
    for name, port in ports.items():
        data = "data.npz" if own or name.startswith("late") else None
        assert node_of(folder, name) == config.NodeConfig(
            client=name, superlink="127.0.0.1:9", data=data, port=port, insecure=not secure
        )
        place = folder / "nodes" / name
        assert place.stat().st_mode & 0o777 == 0o700
        assert (place / "node.key").exists() is secure
        assert (place / "ca.crt").exists() is secure
        assert (place / PEERS).exists() is secure
    assert config.load(config.Deployment, folder, config.DEPLOYMENT) == config.Deployment(
        address="127.0.0.1:9", clients=NAMES, newcomers=("late", "later"), own_data=own,
        insecure=not secure, listen="127.0.0.2", node_port=7000)  # fmt: skip
    for name in ("keys", "certs"):
        there = folder / name
        assert there.exists() is secure
        assert not secure or there.stat().st_mode & 0o777 == 0o700
    assert (folder / PEERS).exists() is secure
    assert folder.stat().st_mode & 0o777 == 0o700
    manual = (folder / "README.md").read_text()
    assert "7000" in manual
    assert "7001" in manual
    for script, verb in ((folder / "start-superlink", "superlink"), (place / "start", "node")):
        assert script.read_text().endswith(f' deploy {verb} "$(cd "$(dirname "$0")" && pwd)"\n')
        assert script.stat().st_mode & 0o100


def test_nodes_have_ports_that_there_are(tmp_path):
    with pytest.raises(FedkinError, match=r"^--node-port 65535: 2 nodes .* begin at 65534 at most"):
        init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9", node_port=65535)
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9", node_port=65534)
    assert [node_of(folder, name).port for name in NAMES] == [65534, 65535]
    with pytest.raises(FedkinError, match=r"has had port 65535, and no port comes after it"):
        add(folder, "late")
    assert not (folder / "nodes" / "late").exists()


def test_a_folder_that_is_there_and_empty_is_taken_and_closed(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    spec = small("fedavg", run__clients=5)
    assert config.spec_of(init(folder, spec, NAMES, "127.0.0.1:9102")).run.clients == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    assert node_of(folder, "north").port == 9101
    assert node_of(folder, "south").port == 9102
    unsaid = spec.model_copy(update={"run": spec.run.model_copy(update={"clients": None})})
    other = init(tmp_path / "other", unsaid, NAMES, "127.0.0.1:9", own_data=False)
    assert config.spec_of(other).run.clients == 2


@pytest.mark.parametrize(
    ("settings", "names", "why"),
    [
        ({"run__holdout_clients": 0.5}, NAMES, "run.holdout_clients is for simulations: set it"),
        ({}, (), "names nobody: give every client a name of its own"),
        ({}, ("north", "north"), "names north more than once: give every client a name"),
        ({"audit__canaries": 5}, NAMES, "audit.canaries is for simulations"),
    ],
)
def test_what_is_for_simulations_is_refused(settings, names, why, tmp_path):
    with pytest.raises(FedkinError, match=why):
        init(tmp_path / "site", small("fedavg", run__clients=2, **settings), names, "127.0.0.1:9")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("listen", "hosts"),
    [
        (None, ["fl.example"]),
        ("10.1.2.3", ["fl.example", "10.1.2.3"]),
        ("0.0.0.0", ["fl.example"]),
        ("::", ["fl.example"]),
    ],
)
def test_a_certificate_is_for_what_is_dialled_and_bound(listen, hosts):
    assert (
        hosts_of(config.Deployment(address="fl.example:9", clients=("a",), listen=listen)) == hosts
    )


def test_nodes_whose_folder_is_elsewhere_are_not_renewed(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    (folder / "nodes" / "north" / config.NODE).unlink()
    old = (folder / "nodes" / "north" / "ca.crt").read_bytes()
    key = (folder / "certs" / "ca.key").read_bytes()
    assert renew(folder) == ["south"]
    assert (folder / "nodes" / "north" / "ca.crt").read_bytes() == old
    new = (folder / "certs" / "ca.crt").read_bytes()
    assert (folder / "nodes" / "south" / "ca.crt").read_bytes() == new != old
    assert (folder / "certs" / "ca.key").read_bytes() == key


def keys_of(path):
    return [line.split()[:2] for line in path.read_bytes().splitlines()]


def test_a_newcomers_key_is_in_everybodys_list(tmp_path):
    """In the order that clients will have: who becomes one is known by its place in the list."""
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    add(folder, "late")
    shutil.rmtree(folder / "nodes" / "south")  # carried to its machine
    add(folder, "later")
    whole = [keys_of(folder / "keys" / f"{n}.pub")[0] for n in (*NAMES, "late", "later")]
    assert keys_of(folder / PEERS) == whole
    for name in ("north", "late", "later"):
        assert keys_of(folder / "nodes" / name / PEERS) == whole
    assert not (folder / "nodes" / "south").exists()
    (folder / "keys" / "north.pub").unlink()
    with pytest.raises(
        FedkinError, match=r"north\.pub does not exist, and belongs into clients\.pub"
    ):
        add(folder, "last")
    assert "last" not in (folder / config.DEPLOYMENT).read_text()


def becomes_client(folder, *names):
    found = config.load(config.Deployment, folder, config.DEPLOYMENT)
    found = found.model_copy(update={"clients": (*found.clients, *names)})
    (folder / config.DEPLOYMENT).write_text(config.text_of(found))


def test_a_list_of_other_clients_is_written_anew_before_a_run_under_masks(tmp_path):
    folder = init(tmp_path / "site", MASKED, NAMES, "127.0.0.1:9")
    add(folder, "late")
    add(folder, "later")
    before = (folder / PEERS).read_bytes()
    assert prepared(folder, False)[1].name == "1"
    becomes_client(folder, "later")  # the second newcomer is the third client
    said = r"clients\.pub had not the keys of clients in their order, and is written anew: carry it"
    with pytest.raises(FedkinError, match=said):
        prepared(folder, False)
    assert (folder / PEERS).read_bytes() != before
    assert prepared(folder, False)[1].name == "1"
    assert keys_of(folder / "nodes" / "north" / PEERS)[2:] == [
        keys_of(folder / "keys" / f"{name}.pub")[0] for name in ("later", "late")
    ]
    (folder / PEERS).unlink()
    with pytest.raises(FedkinError, match=said):
        prepared(folder, False)
    (folder / "keys" / "north.pub").unlink()  # nothing to compare with
    (folder / PEERS).unlink()
    assert prepared(folder, False)[1].name == "1"


def test_a_list_is_nobodys_business_without_masks(tmp_path):
    folder = init(tmp_path / "site", SPEC, NAMES, "127.0.0.1:9")
    (folder / PEERS).unlink()
    assert prepared(folder, False)[1].name == "1"
