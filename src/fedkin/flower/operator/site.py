"""``fedkin deploy init``: the folder of a deployment, and one folder a node to be carried to its
machine.
"""

import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from fedkin.core.errors import FedkinError, some
from fedkin.core.files import write_file
from fedkin.flower.address import EVERYWHERE, check_dialled, check_insecure, host_of
from fedkin.flower.config import (
    DEPLOYMENT,
    EXPERIMENT,
    LAST_PORT,
    NODE,
    NODE_PORT,
    Deployment,
    NodeConfig,
    load,
    made,
    text_of,
)
from fedkin.flower.deployable import check_deployable
from fedkin.flower.identities import PEERS, lists_in_order, write_peers
from fedkin.flower.operator import keys
from fedkin.flower.operator.newcomers_key import with_newcomer
from fedkin.flower.operator.ports import next_port, note_port
from fedkin.flower.operator.readme import operator_readme
from fedkin.flower.operator.unit import link_unit, node_unit
from fedkin.runs.spec import Spec
from fedkin.setup.build import method_of
from fedkin.setup.noise_calibration import calibrate_noise
from fedkin.setup.population import rooted
from fedkin.setup.resolved import resolved
from fedkin.setup.user_code import code_of

APP = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "fedkin-deployment"
version = "1.0.0"
description = "Runs the fedkin that is installed on the SuperLink's machine and on every node"
dependencies = []

[tool.flwr.app]
publisher = "fedkin"

[tool.flwr.app.components]
serverapp = "fedkin_deployment.server_app:app"
clientapp = "fedkin_deployment.client_app:app"

[tool.flwr.app.config]
deployment = ""
out = ""
join = ""
rounds = ""
"""
CODE = {
    "__init__.py": '"""Nothing but names: the code is the installed fedkin."""\n',
    "server_app.py": 'from fedkin.flower.server import app\n\n__all__ = ["app"]\n',
    "client_app.py": 'from fedkin.flower.client import app\n\n__all__ = ["app"]\n',
}


def init(
    folder: Path,
    spec: Spec,
    clients: Sequence[str],
    address: str,
    *,
    own_data: bool = True,
    insecure: bool = False,
    listen: str | None = None,
    node_port: int = NODE_PORT,
) -> Path:
    """Write a deployment.

    Args:
        folder: Is made; it must be new.
        spec: The experiment.
        clients: Names of the nodes, in the order of client numbers.
        address: host:port of the SuperLink, as nodes dial it.
        own_data: Whether nodes read files of their own; else each builds its part of [data].
        insecure: Whether there is no TLS and no key, on loopback alone.
        listen: The host that the SuperLink binds, if another; None: that of the address.
        node_port: Of the first node's own Flower runtime; each other node has the next one.

    Returns:
        The folder.

    Raises:
        FedkinError: Something does not fit, before anything is written.
    """
    check_dialled(address, "--address", "--listen {}")
    if insecure:
        for dialled in (address, *([f"{listen}:1"] if listen else [])):
            check_insecure(dialled, "--insecure")
    if not clients:
        raise FedkinError("--clients names nobody: give every client a name of its own")
    if twice := sorted({name for name in clients if clients.count(name) > 1}):
        raise FedkinError(
            f"--clients names {some(twice)} more than once: give every client a name of its own"
        )
    _check_experiment(spec)
    _check_new(folder)
    values = {
        "address": address,
        "clients": tuple(clients),
        "own_data": own_data,
        "insecure": insecure,
        "listen": listen,
        "node_port": node_port,
    }
    deployment = made(Deployment, "--clients", values)
    _check_ports(node_port, len(clients))
    experiment = _experiment(spec, len(clients), own_data)
    _make_private(folder)
    _write_server(folder, deployment, experiment)
    _write_nodes(folder, deployment, experiment)
    write_file(folder / "README.md", operator_readme(folder, deployment, code_of(spec)).encode())
    return folder


def _check_new(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FedkinError(f"{folder} is a file: choose another folder")
    if folder.exists() and any(folder.iterdir()):
        raise FedkinError(f"{folder} is not empty: choose another folder")


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FedkinError(f"{folder} cannot be made: {error.strerror}") from None
    folder.chmod(0o700)  # also of one that was there, before there is anything in it


def _write_server(folder: Path, deployment: Deployment, experiment: str) -> None:
    """What the SuperLink's machine needs."""
    write_file(folder / DEPLOYMENT, text_of(deployment).encode())
    write_file(folder / EXPERIMENT, experiment.encode())
    write_app(folder / "app")
    if not deployment.insecure:
        keys.certificates(folder / "certs", hosts_of(deployment))
    _script(folder / "start-superlink", "superlink")
    link_unit(folder)


def _write_nodes(folder: Path, deployment: Deployment, experiment: str) -> None:
    """A folder for each node, and the port of the node that may be added next."""
    for number, client in enumerate(deployment.clients):
        config = NodeConfig(
            client=client,
            superlink=deployment.address,
            data="data.npz" if deployment.own_data else None,
            port=deployment.node_port + number,
            insecure=deployment.insecure,
        )
        _node(folder, config, experiment)
    note_port(folder, deployment.node_port + len(deployment.clients))
    if not deployment.insecure:  # whatever the experiment: another one may ask for masks
        spread_peers(folder, deployment)


def _check_experiment(spec: Spec) -> None:
    method = method_of(spec)
    if method.needs.pooled:
        raise FedkinError(
            f"{method.name} needs everybody's data in one place: there is nothing to deploy"
        )
    check_deployable(spec)
    if spec.run.holdout_clients:
        raise FedkinError(
            "run.holdout_clients is for simulations: set it to 0, and name the nodes that take part"
        )


def _check_ports(first: int, clients: int) -> None:
    last = first + clients - 1
    if last > LAST_PORT:
        raise FedkinError(
            f"--node-port {first}: {clients} nodes would need ports up to {last}, and "
            f"there are {LAST_PORT}: begin at {LAST_PORT - clients + 1} at most"
        )


def _experiment(spec: Spec, clients: int, own_data: bool) -> str:
    """The experiment as every site reads it: of so many clients, and no default left open."""
    method = method_of(spec)
    if own_data or spec.run.clients is None:
        spec = spec.model_copy(update={"run": spec.run.model_copy(update={"clients": clients})})
    if spec.run.clients != clients:
        raise FedkinError(
            f"run.clients is {spec.run.clients}, but --clients names {clients}: write "
            f"run.clients = {clients} in the experiment, or name {spec.run.clients}"
        )
    spec = calibrate_noise(spec)  # nodes add noise of a multiplier, and know no accountant
    # nodes that rehearse read it from folders of their own
    spec = resolved(spec if own_data else rooted(spec), method)
    return tomli_w.dumps(spec.model_dump(mode="json", exclude_none=True))


def hosts_of(deployment: Deployment) -> list[str]:
    """The hosts by which the SuperLink is dialled: its certificate is for them.

    Args:
        deployment: Its configuration.

    Returns:
        One or two.
    """
    dialled = host_of(deployment.address)
    return [dialled, *(host for host in [deployment.listen] if host and host not in EVERYWHERE)]


def renew(folder: Path) -> list[str]:
    """Sign new certificates with the deployment's own key; the names of nodes whose folder got one.

    Nodes keep their keys. Every node needs the new ca.crt before its old one expires.

    Args:
        folder: Of the deployment.

    Returns:
        Names of nodes.

    Raises:
        FedkinError: It has no certificates, or the authority's key is not there.
    """
    deployment = load(Deployment, folder, DEPLOYMENT)
    if deployment.insecure:
        raise FedkinError(f"{folder} has no certificates: it was made with --insecure")
    keys.certificates(folder / "certs", hosts_of(deployment), anew=False)
    authority = (folder / "certs" / "ca.crt").read_bytes()
    nodes = _nodes_here(folder)
    for node in nodes:
        write_file(node / "ca.crt", authority)
    return [node.name for node in nodes]


def spread_peers(folder: Path, deployment: Deployment) -> None:
    """Write the list of everybody's keys, clients first, here and into the nodes' folders that are
    here.

    Args:
        folder: The deployment's.
        deployment: Whose clients and newcomers have keys in ``keys``.

    Raises:
        FedkinError: A key is not there.
    """
    names = deployment.names
    for name in names:
        if not (path := folder / "keys" / f"{name}.pub").is_file():
            raise FedkinError(f"{path} does not exist, and belongs into {PEERS}: bring it back")
    for target in (folder, *_nodes_here(folder)):
        write_peers(target, folder / "keys", names)


def check_peers(folder: Path, deployment: Deployment) -> None:
    """Under secure aggregation a client is known by its key's place in a list.

    Args:
        folder: The deployment's.
        deployment: As it is now: a newcomer may have become a client.

    Raises:
        FedkinError: The list was of other clients. It is written anew.
    """
    if not lists_in_order(folder, folder / "keys", deployment.clients):
        spread_peers(folder, deployment)
        raise FedkinError(
            f"{folder / PEERS} had not the keys of clients in their order, and is written anew: "
            "carry it into every node's folder, then begin the run"
        )


def _nodes_here(folder: Path) -> list[Path]:
    return [path.parent for path in sorted((folder / "nodes").glob(f"*/{NODE}"))]


def add(folder: Path, client: str, port: int | None = None) -> Path:
    """Write the folder of a node that comes later, and enter it as a newcomer; returns
    its folder.

    Args:
        folder: Of the deployment.
        client: The name of the node.
        port: Of its own Flower runtime; None: the next one.

    Returns:
        The node's folder.

    Raises:
        FedkinError: The name is taken, or there is no port left.
    """
    deployment = load(Deployment, folder, DEPLOYMENT)
    names = deployment.names
    if client in names:
        raise FedkinError(f"{client} is there already: the nodes are {', '.join(names)}")
    next_free = next_port(folder, deployment)
    config = made(
        NodeConfig,
        "NAME",
        {
            "client": client,
            "superlink": deployment.address,
            "data": "data.npz",
            "port": port or _checked(next_free, folder),
            "insecure": deployment.insecure,
        },
    )
    text = with_newcomer(folder / DEPLOYMENT, client)
    _node(folder, config, (folder / EXPERIMENT).read_text(encoding="utf-8"))
    note_port(folder, max(next_free, config.port + 1))
    with_client = deployment.model_copy(update={"newcomers": (*deployment.newcomers, client)})
    if not deployment.insecure:
        spread_peers(folder, with_client)
    write_file(folder / DEPLOYMENT, text.encode())
    return folder / "nodes" / client


def _checked(port: int, folder: Path) -> int:
    if port > LAST_PORT:
        raise FedkinError(
            f"a node of {folder} has had port {LAST_PORT}, and no port comes after it: "
            "give the new node one that is free on its machine (--port)"
        )
    return port


def write_app(folder: Path) -> None:
    """The tiny app that Flower distributes.

    Args:
        folder: Where it goes; it is made.
    """
    package = folder / "fedkin_deployment"
    package.mkdir(parents=True, exist_ok=True)
    write_file(folder / "pyproject.toml", APP.encode())
    for name, text in CODE.items():
        write_file(package / name, text.encode())


def _node(folder: Path, config: NodeConfig, experiment: str) -> None:
    """What is there already of a node that was cut short stays: its key and its configuration."""
    node = folder / "nodes" / config.client
    node.mkdir(parents=True, mode=0o700, exist_ok=True)
    if not (node / NODE).exists():
        write_file(node / NODE, text_of(config).encode())
    write_file(node / EXPERIMENT, experiment.encode())
    if not config.insecure:
        (folder / "keys").mkdir(exist_ok=True, mode=0o700)
        private_key, public_key = node / "node.key", folder / "keys" / f"{config.client}.pub"
        if not (private_key.exists() and public_key.exists()):
            keys.node_key(private_key, public_key)
        write_file(node / "ca.crt", (folder / "certs" / "ca.crt").read_bytes())
    _script(node / "start", "node")
    node_unit(node)


def _script(path: Path, verb: str) -> None:
    """For systemd or any other supervisor: runs until it is stopped, and starts again what
    ends.
    """
    here = '"$(cd "$(dirname "$0")" && pwd)"'
    lines = [
        "#!/bin/sh",
        "# uses the fedkin of this machine; FEDKIN names another one "
        f"({Path(sys.executable).parent / 'fedkin'})",
        f'exec "${{FEDKIN:-fedkin}}" deploy {verb} {here}',
    ]
    write_file(path, ("\n".join(lines) + "\n").encode())
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
