"""A deployment without processes: the real transport and real nodes, joined by a grid of this
process.
"""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity

from fedkin.flower import config, server
from fedkin.flower.node.host import Node
from fedkin.flower.operator.site import init
from fedkin.flower.records import pack, unpack
from fedkin.runs.spec import Spec

LIMIT = 1 << 30
NAMES = ("c0", "c1", "c2", "c3")


class Grid:
    """Flower's Grid, as far as it is used.

    ``absent``: clients whose node is not connected. ``seen``: all requests.
    """

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes, self.names = nodes, list(nodes)
        self.absent: set[str] = set()
        self.seen: list[tuple[str, list[bytes]]] = []
        self.sent: dict[str, str] = {}  # message → the client whose node it went to
        self._replies: dict[str, Message] = {}
        TaskIdentity._run_id = TaskIdentity._task_id = TaskIdentity._node_id = (
            1  # as in a server app, where messages may be made
        )

    def get_nodes(self) -> Iterable[Any]:
        for number, name in enumerate(self.names):
            status = "offline" if name in self.absent else "online"
            yield SimpleNamespace(name=name, node_id=number + 10, status=status)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            name = list(self.nodes)[message.metadata.dst_node_id - 10]
            parts = unpack(message.content, LIMIT)
            self.seen.append((name, parts))
            self.sent[message.metadata.message_id] = name
            reply = Message(pack(self.nodes[name].answer(parts)), reply_to=message)
            self._replies[message.metadata.message_id] = reply
            ids.append(message.metadata.message_id)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self._replies.pop(id) for id in list(message_ids) if id in self._replies]


class Fleet:
    """A deployment in a folder, and its nodes as objects."""

    def __init__(
        self, folder: Path, spec: Spec, own_data: bool = False, names: tuple[str, ...] = NAMES
    ) -> None:
        self.folder = init(folder / "d", spec, names, "127.0.0.1:9092", own_data=own_data)
        self.out = folder / "run"
        self.nodes = {name: Node(self.folder / "nodes" / name) for name in names}
        self.grid = Grid(self.nodes)

    def run(self) -> Path:
        return server.serve(self.grid, self.folder, self.out, self.folder / "stop")  # type: ignore[arg-type]

    def configure(self, **settings: Any) -> None:
        found = config.load(config.Deployment, self.folder, config.DEPLOYMENT).model_copy(
            update=settings
        )
        (self.folder / config.DEPLOYMENT).write_text(config.text_of(found))
