"""From the client app to the host on the same node: byte strings over a socket that only this user
can open.
"""

import sys
import time
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, reason
from fedkin.core.system.posix import not_here

MOST_PARTS = 8
PATIENCE = 60  # seconds that a host which is being restarted is waited for


def put(line: "Connection[Any, Any]", parts: list[bytes]) -> None:
    """So many byte strings.

    Args:
        line: An open connection.
        parts: At most 255 byte strings.
    """
    line.send_bytes(len(parts).to_bytes(1, "little"))
    for part in parts:
        line.send_bytes(part)


def take(line: "Connection[Any, Any]", limit: int) -> list[bytes]:
    """What ``put`` sent.

    Args:
        line: An open connection.
        limit: Bytes of all parts together.

    Returns:
        The byte strings.

    Raises:
        OSError: They are larger; the line is closed.
    """
    count = int.from_bytes(line.recv_bytes(1), "little")
    parts: list[bytes] = []
    for _ in range(min(count, MOST_PARTS)):
        parts.append(line.recv_bytes(limit))
        limit -= len(parts[-1])
    return parts


def ask(socket: Path, parts: list[bytes], limit: int) -> list[bytes]:
    """The host's answer. A host that is being restarted is waited for.

    Args:
        socket: The path of the host's socket.
        parts: The header of a request, and its message.
        limit: Bytes that the answer may have.

    Returns:
        The header of a reply, and its messages.

    Raises:
        FedkinError: The host does not answer.
    """
    if sys.platform == "win32":
        not_here()
    end = time.monotonic() + PATIENCE
    while True:
        try:
            opened = Client(str(socket), family="AF_UNIX")
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if time.monotonic() > end:
                raise FedkinError(
                    f"the host of this node does not answer: {reason(error)}"
                ) from None
            time.sleep(0.2)
            continue
        except OSError as error:
            advice = (
                ": start the SuperNode and the host as one user (fedkin deploy node starts both)"
                if isinstance(error, PermissionError)
                else ""
            )
            raise FedkinError(
                f"the socket of this node's host cannot be opened: {reason(error)}{advice}"
            ) from None
        try:
            with opened as line:
                put(line, parts)
                return take(line, limit)
        except (EOFError, ConnectionError) as error:
            raise FedkinError(
                f"the host of this node ended, or refused what came: {error}"
            ) from None
        except OSError as error:
            raise FedkinError(
                f"the answer of this node's host is larger than max_bytes = {limit:,} in node.toml "
                f"allowed when the node was started, or was cut off: {reason(error)}"
            ) from None
