"""A worker process: one host, which answers calls until the coordinator hangs up."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout, suppress
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import not_here
from fedkin.engine.codec import encode
from fedkin.engine.host import Host
from fedkin.engine.transports.failures import error_header
from fedkin.engine.transports.ipc import Channel, accept
from fedkin.engine.transports.parcels import gathered, rows_of, tasks_of
from fedkin.engine.transports.work_queue import Claims

KEY = "FEDKIN_WORKER_KEY"


def serve(address: str, worker: str, build: Any) -> None:
    """The loop of a worker process: ``build(setup) → Host`` once, then calls until the coordinator
    hangs up.

    Args:
        address: Of the coordinator, as JSON.
        worker: Its number, as text.
        build: Setup → host; raises FedkinError, which is sent to the coordinator.
    """
    # the coordinator may be gone at any moment, also between two answers: then there is nobody left
    # to tell. What a method prints is no result of the command.
    with suppress(EOFError, ConnectionError), redirect_stdout(sys.stderr):
        if sys.platform == "win32":
            not_here()
        try:
            end = Client(json.loads(address), authkey=os.environ.pop(KEY).encode())
        except FileNotFoundError:  # it has ended while this process began, and its socket with it
            return
        line, beside = accept(end)
        line.tell({"worker": int(worker)})
        try:
            host: Host = build(line.receive()[0])
        except FedkinError as error:
            line.tell(error_header(error))
            return
        line.tell({})
        claims = Claims(beside)
        while True:
            header, blobs = line.receive()
            line.begin()
            _call(host, line, claims, header, blobs)


def _call(
    host: Host, line: Channel, claims: Claims, header: dict[str, Any], blobs: list[bytes]
) -> None:
    try:
        if header["call"] == "do":
            tasks = tasks_of(header, blobs, claims)
            for answers, more in gathered(host.do(header["op"], header["round"], tasks)):
                rows, messages = rows_of(answers)
                whole = None if more or host.partial_sums is None else host.partial_sums.whole()
                sums = [] if whole is None else [encode(whole.packed())]
                line.tell({"answers": rows, "more": more, "sum": bool(sums)}, [*messages, *sums])
        elif header["call"] == "sum":
            line.tell({}, [sum_at(host, header["clients"])])
        else:
            line.tell({"result": CALLS[header["call"]](host, header)})
    except ConnectionError:
        raise
    except (FedkinError, OSError) as error:
        line.tell(error_header(error))


def sum_at(host: Host, clients: Iterable[int]) -> bytes:
    """The partial sum of messages that stayed with a host, encoded.

    Args:
        host: It holds them.
        clients: Whose messages.

    Returns:
        ``ExactSum.packed`` as bytes of the codec.
    """
    assert host.partial_sums is not None
    return encode(host.partial_sums.sum(clients).packed())


def _load(host: Host, header: dict[str, Any]) -> None:
    host.load({int(client): Path(path) for client, path in header["states"].items()})


CALLS: dict[str, Callable[[Host, dict[str, Any]], Any]] = {
    "save": lambda host, header: host.save(Path(header["folder"]), header["round"]),
    "load": _load,
    "digests": lambda host, header: {client: host.digest(client) for client in header["clients"]},
    "remarks": lambda host, header: host.runtime.said,
}
