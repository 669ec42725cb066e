"""The two configuration files of a deployment: deployment.toml beside the server, node.toml on
every node.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tomli_w
from pydantic import BaseModel, Field, ValidationError

from fedkin.core.errors import FedkinError, cut, near
from fedkin.core.files import read_file
from fedkin.core.toml import LARGEST, BadToml, parse_toml
from fedkin.flower.address import check_dialled, check_insecure, host_of
from fedkin.runs.section import Section
from fedkin.runs.spec import Spec, parse, read

DEPLOYMENT, NODE, EXPERIMENT = "deployment.toml", "node.toml", "experiment.toml"
SUBMITTED = "submitted.json"  # in a deployment's folder: which run was begun last
LAST_PORT = 65535
NODE_PORT = 9101  # of the nodes' own runtimes, for several nodes on one machine
MAX_BYTES = 256 << 20  # of one message, unless a configuration says otherwise
LONGEST_SOCKET = 100  # bytes in the path of a socket that every system takes
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
Config = TypeVar("Config", bound=BaseModel)


class Deployment(Section):
    """What the server's side of a deployment is."""

    address: str  # host:port of the SuperLink, as nodes dial it
    listen: str | None = None  # the host that it binds, if another; "0.0.0.0": all of this machine
    # names under which the nodes are registered; client number k is the k-th
    clients: tuple[Name, ...]
    # nodes that came later: they are registered, and join runs that are there
    newcomers: tuple[Name, ...] = ()
    # port of the first node's own Flower runtime; each other node has the next one
    node_port: int = Field(default=NODE_PORT, gt=0, le=LAST_PORT)
    # Nodes read files of their own; false: every node builds its part of [data] (rehearsals)
    own_data: bool = True
    insecure: bool = False  # no TLS, no node authentication: loopback only
    deadline: float = Field(default=600, gt=0)  # seconds that a client has for one message
    # A round may close after soft_deadline seconds, once this share of the clients has replied
    soft_deadline: float | None = Field(default=None, gt=0)
    quorum: float = Field(default=1.0, gt=0, le=1)
    wait: float = Field(default=600, gt=0)  # seconds that a start, or a resume, waits for nodes
    poll: float = Field(default=0.2, gt=0)  # seconds between two looks for replies
    max_bytes: int = Field(default=MAX_BYTES, gt=0)

    @property
    def names(self) -> tuple[Name, ...]:
        """Of all nodes, each once: a newcomer may have become a client."""
        return tuple(dict.fromkeys((*self.clients, *self.newcomers)))


class NodeConfig(Section):
    """What one node is. Paths are relative to the folder of node.toml."""

    client: Name
    superlink: str
    data: str | None = None  # .npz, .csv or .parquet; none: its part of the experiment's [data]
    # this node's own, package.module:Class; none: what the experiment gives it
    model: str | None = None
    # code that the experiment may name: "package.module", or "package.module:Class"
    imports: tuple[str, ...] = ()
    # ε that all runs with noise may cost this node's data together; none: no limit
    max_epsilon: float | None = Field(default=None, gt=0)
    state: str = "state"
    # of this node's own Flower runtime, on loopback
    port: int = Field(default=9094, gt=0, le=LAST_PORT)
    insecure: bool = False
    max_bytes: int = Field(default=MAX_BYTES, gt=0)


def load(kind: type[Config], folder: Path, name: str) -> Config:
    """A configuration file, checked.

    Args:
        kind: Deployment or NodeConfig.
        folder: Where the file is.
        name: Of the file.

    Returns:
        A valid object of ``kind``.

    Raises:
        FedkinError: It cannot be read, or the first mistake in one sentence.
    """
    path = folder / name
    try:
        return made(kind, str(path), parse_toml(read_file(path, LARGEST).decode("utf-8")))
    except OSError as error:
        hint = _within(folder, name) if folder.exists() else _beside(folder, name)
        raise FedkinError(f"{path} cannot be read: {error.strerror}{hint}") from None
    except (UnicodeDecodeError, BadToml) as error:
        raise FedkinError(f"{path} is not valid TOML: {error}") from None


def _beside(folder: Path, name: str) -> str:
    """The hint at a folder beside one that is not there, with a file of that name; "" for none."""
    try:
        others = [one.name for one in folder.parent.iterdir() if (one / name).is_file()]
    except OSError:
        return ""
    return near(folder.name, sorted(others))


def _within(folder: Path, name: str) -> str:
    """The hint at a node of a deployment, or at the deployment of a node, where that one has such a
    file; "" for none.
    """
    others = [*sorted(folder.glob("nodes/*")), *folder.parents[:2]]
    found = next((one for one in others if (one / name).is_file()), None)
    return "" if found is None else f": name a folder that has it, such as {found}"


def made(kind: type[Config], where: str, content: Mapping[str, Any]) -> Config:
    """A configuration, checked.

    Args:
        kind: Deployment or NodeConfig.
        where: Where it came from, for messages.
        content: {key: value}.

    Returns:
        A valid object of ``kind``.

    Raises:
        FedkinError: The first mistake, in one sentence.
    """
    try:
        config = kind.model_validate(content)
    except ValidationError as error:
        mistakes = error.errors()
        # a key that is written wrongly may be the one that seems to be missing
        first = next((one for one in mistakes if one["type"] == "extra_forbidden"), mistakes[0])
        if first["type"] == "string_pattern_mismatch":  # names are all that has a pattern
            raise FedkinError(f"{where}: {_misnamed(first['input'])}") from None
        if first["type"] == "extra_forbidden":
            key, keys = str(first["loc"][0]), kind.model_fields
            hint = near(key, keys) or f": the keys are {', '.join(keys)}"
            raise FedkinError(f"{where}: unknown key {cut(key)!r}{hint}") from None
        raise FedkinError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    _check_addresses(config, where)
    if isinstance(config, Deployment):
        _check_clients(config, where)
        _check_times(config, where)
    return config


def _check_addresses(config: BaseModel, where: str) -> None:
    """Whoever starts anything reads a configuration first: what is insecure is refused here."""
    if isinstance(config, Deployment):
        check_dialled(config.address, f"{where}: address", 'listen = "{}"')
        named = [config.address, *([f"{config.listen}:1"] if config.listen else [])]
    elif isinstance(config, NodeConfig):
        check_dialled(config.superlink, f"{where}: superlink", None)
        named = [config.superlink]
    else:
        return
    for address in named:
        host_of(address)
        if config.insecure:
            check_insecure(address, f"{where}: insecure")


def _check_clients(deployment: Deployment, where: str) -> None:
    """A client is known by its name: a node that stands there twice would count as two."""
    if not deployment.clients:
        raise FedkinError(f"{where}: clients is empty: name a node at least")
    for key in ("clients", "newcomers"):
        for name, times in Counter(getattr(deployment, key)).items():
            if times > 1:
                raise FedkinError(f"{where}: {key} has {name!r} {times} times: name each node once")


def _check_times(deployment: Deployment, where: str) -> None:
    """A round closes at its deadline: what would come later, or never, is a mistake."""
    soft, deadline = deployment.soft_deadline, deployment.deadline
    if soft is not None and soft >= deadline:
        raise FedkinError(
            f"{where}: soft_deadline={soft:g} must be less than deadline={deadline:g}: a round "
            "closes at its deadline"
        )
    if soft is None and deployment.quorum < 1:
        raise FedkinError(
            f"{where}: quorum={deployment.quorum:g} needs soft_deadline: the seconds after which "
            "it closes a round"
        )


def _misnamed(name: str) -> str:
    near = re.sub("[^A-Za-z0-9_.-]+", "-", name).strip("_.-")[:63]
    hint = f": try {near!r}" if near else ""
    return (
        f"{name!r} is no name for a node (A-Z, a-z, 0-9, then '_', '.' and '-' too, at "
        f"most 63){hint}"
    )


def text_of(config: BaseModel) -> str:
    """A configuration as TOML.

    Args:
        config: The configuration.

    Returns:
        TOML without the keys that are None.
    """
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def spec_of(folder: Path) -> Spec:
    """The experiment that lies in a folder.

    Args:
        folder: Of a deployment or of a node.

    Returns:
        A checked specification.

    Raises:
        FedkinError: It is not there, or not valid.
    """
    content, text = read(folder / EXPERIMENT)
    return parse(content, text, str(folder / EXPERIMENT))[0]


def at_home(spec: Spec, folder: Path) -> Spec:
    """The experiment of a folder with the public file that lies beside it, where it names one by a
    relative path; any other name is looked for as ``fedkin run`` does.

    Args:
        spec: The experiment.
        folder: Where it lies.

    Returns:
        A copy, or the same.
    """
    source = spec.public.source
    if source is None or not (path := folder.absolute() / source).is_file():
        return spec
    return spec.replace("public", source=str(path))


def fingerprint(spec: Spec) -> str:
    """sha256 of all that decides an experiment's result: what a node compares before it works.

    Args:
        spec: The experiment.

    Returns:
        64 hexadecimal digits.
    """
    content: dict[str, Any] = spec.model_dump(
        mode="json", exclude={"engine": True, "run": {"out", "commit_every"}}
    )
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def ended_of(folder: Path, number: str) -> Path:
    """Where a server app leaves word how it ended.

    Args:
        folder: Of the deployment.
        number: Of the Flower run that it is.

    Returns:
        A path, which need not be there.
    """
    return folder / f"ended-{number}.json"


def stop_of(folder: Path, number: str) -> Path:
    """Who puts a file there wants the Flower run of this number to end after its round.

    Args:
        folder: Of the deployment.
        number: Of the Flower run.

    Returns:
        A path, which need not be there.
    """
    return folder / f"stop-{number}"


def waiting_of(folder: Path, number: str) -> Path:
    """Where the server app of this Flower run says which nodes it waits for.

    Args:
        folder: Of the deployment.
        number: Of the Flower run.

    Returns:
        A path, which need not be there.
    """
    return folder / f"waiting-{number}.json"


def joining_of(folder: Path, name: str) -> Path:
    """Where the last join of a newcomer is noted, until it has ended.

    Args:
        folder: Of the deployment.
        name: Of the newcomer.

    Returns:
        A path, which need not be there.
    """
    return folder / f"joining-{name}.json"


def socket_of(folder: Path, config: NodeConfig) -> Path:
    """Where a node's host listens.

    Args:
        folder: Of the node.
        config: Its configuration.

    Returns:
        A path of at most LONGEST_SOCKET bytes.

    Raises:
        FedkinError: It is longer.
    """
    path = (folder / config.state / "host.socket").absolute()
    if len(str(path).encode()) > LONGEST_SOCKET:
        raise FedkinError(f"{path} is too long for the path of a socket: move the node's folder")
    return path
