"""The client app: it passes on what arrives to the node's host, up to the node's limit."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from flwr.app import Message
from flwr.supercore.task_identity import TaskIdentity

from fedkin.flower import client
from fedkin.flower.envelope import Refused
from fedkin.flower.records import pack, unpack


def test_a_message_goes_to_the_host_and_its_answer_goes_back(monkeypatch):
    TaskIdentity._run_id = TaskIdentity._task_id = TaskIdentity._node_id = 1
    asked = []
    monkeypatch.setattr(client.local_socket, "ask", lambda *told: [asked.append(told), [b"up"]][1])
    context = SimpleNamespace(node_config={"socket": "/run/host.socket", "max-bytes": 6.0})
    message = Message(pack([b"head", b"x"]), 3, "train.fedkin")
    message.metadata.__dict__["_message_id"] = message.object_id
    reply = client.work(message, context)
    assert asked == [(Path("/run/host.socket"), [b"head", b"x"], 6)]
    assert [bytes(part) for part in unpack(reply.content, 2)] == [b"up"]
    assert reply.metadata.reply_to_message_id == message.object_id
    with pytest.raises(Refused, match="message of 7 bytes, more than the 6 allowed"):
        client.work(Message(pack([b"head", b"xyz"]), 3, "train.fedkin"), context)
    assert len(asked) == 1
