"""Messages on the socket of a node."""

import threading

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower import config
from fedkin.flower.envelope import HEADER_BYTES, NodeReply, sealed
from fedkin.flower.node import local_socket
from fedkin.flower.node.host import serve
from tests.engine.small import small
from tests.flower.node.host_examples import made, request


@pytest.fixture
def spec():
    return small("ditto", run__clients=4, run__participation=1.0, run__rounds=9)


@pytest.fixture
def node(tmp_path, spec):
    return made(tmp_path, spec)


def test_large_messages_are_not_read(tmp_path, spec):
    """A host closes the line on them, and goes on."""
    node = made(tmp_path, spec, max_bytes=1000)
    node.state.mkdir()
    threading.Thread(target=serve, args=(node,), daemon=True).start()
    socket = config.socket_of(node.folder, node.config)
    with pytest.raises(FedkinError, match="ended, or refused what came"):
        local_socket.ask(socket, [sealed(request(spec)), bytes(1000 + HEADER_BYTES)], 1 << 30)
    (header,) = local_socket.ask(socket, [sealed(request(spec, steps=(), place=None))], 1 << 30)
    assert NodeReply.model_validate_json(header).error is None
    assert not list(node.state.glob("*/*.commit"))
