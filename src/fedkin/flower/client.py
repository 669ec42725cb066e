"""The client app: what arrives goes to this node's host, its answer goes back. No torch, no data,
no state.
"""

from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedkin.flower.node import local_socket
from fedkin.flower.records import pack, unpack

app = ClientApp()


@app.train("fedkin")
def work(message: Message, context: Context) -> Message:
    """One message of the federation.

    Args:
        message: From the server, as Flower has it.
        context: With the path of the host's socket, and how many bytes a message may have.

    Returns:
        The host's answer, as Flower has it.
    """
    config = context.node_config
    limit = int(config["max-bytes"])
    answer = local_socket.ask(Path(str(config["socket"])), unpack(message.content, limit), limit)
    return Message(pack(answer), reply_to=message)
