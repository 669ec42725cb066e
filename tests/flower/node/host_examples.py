"""What the tests of host and of its parts have in common."""

from fedkin.engine.codec import encode
from fedkin.experiment.run_facts import versions
from fedkin.flower import config
from fedkin.flower.envelope import NodeReply, Place, RemoteStep, Request, sealed
from fedkin.flower.node.host import Node
from fedkin.setup.build import assemble

RUN = "0123456789abcdef"


def made(folder, spec, **settings) -> Node:
    import tomli_w

    content = spec.model_dump(mode="json", exclude_none=True)
    (folder / config.EXPERIMENT).write_text(tomli_w.dumps(content))
    found = config.NodeConfig(client="c1", superlink="127.0.0.1:9092", **settings)
    (folder / config.NODE).write_text(config.text_of(found))
    return Node(folder)


def down(spec) -> bytes:
    parts = assemble(spec)
    return encode(parts.method.broadcast(parts.method.server(parts.federation.start), 1))


def request(spec, **changes) -> Request:
    content = {
        "version": versions()["fedkin"],
        "experiment": config.fingerprint(spec),
        "run": RUN,
        "name": "c1",
        "place": Place(client=1, clients=4, classes=10, architecture="mlr"),
        "steps": (RemoteStep(op="local", round=1),),
    }
    return Request(**{**content, **changes})


def ask(node: Node, request: Request, *blobs: bytes) -> tuple[NodeReply, list[bytes]]:
    header, *rest = node.answer([sealed(request), *blobs])
    return NodeReply.model_validate_json(header), rest
