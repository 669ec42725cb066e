"""``python -m fedkin.flower.node.host FOLDER``: the host of one node. It holds the data and the
personal states.

It does what well-formed requests of the one configured experiment ask, whoever sends them, and
answers with what the method's own checks let out. It runs as long as the node: its data and its
traced steps are there at once.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import not_here
from fedkin.data.population import Population
from fedkin.engine.codec import check, check_kinds, decode
from fedkin.engine.host import Host, Resources
from fedkin.engine.masking import Protection
from fedkin.engine.model_sources import ModelSources, model_sources
from fedkin.engine.op import SCORING, STAGES
from fedkin.engine.store import Memory
from fedkin.experiment.run_facts import versions
from fedkin.flower import config
from fedkin.flower.envelope import (
    HEADER_BYTES,
    PROTOCOL,
    NodeReply,
    Place,
    Refused,
    Request,
    opened,
    protocol_version,
    sealed,
)
from fedkin.flower.identities import identity as identity_at
from fedkin.flower.identities import masked
from fedkin.flower.node import data, local_socket, reasons
from fedkin.flower.node.checked import first_look
from fedkin.flower.node.held_data import HeldData, LoadedData
from fedkin.flower.node.placement import models_at
from fedkin.flower.node.privacy_ledger import PrivacyLedger
from fedkin.flower.node.protection import threshold_at, with_protection
from fedkin.flower.node.request_log import RequestLog
from fedkin.flower.node.secret import secret_at, states_key
from fedkin.flower.node.store import NodeStore
from fedkin.flower.node.usable import experiment_at
from fedkin.flower.node.work import Work
from fedkin.masks.signatures import Identity
from fedkin.runs.spec import Spec
from fedkin.runtime.replay import Runtime
from fedkin.setup.architectures import names_of, with_measure
from fedkin.setup.build import adapt_to_models, method_of, schedule_of
from fedkin.setup.privacy import seeded_remarks
from fedkin.setup.secure_aggregation import check_clients, masking_of

PATIENCE = 60  # seconds for a caller to say what it wants


class Node:
    """One client: requests in, replies out.

    Args:
        folder: Of the node.

    Raises:
        FedkinError: node.toml cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = config.load(config.NodeConfig, folder, config.NODE)
        self.state = (folder / self.config.state).absolute()
        self.version = versions()["fedkin"]
        self._data = HeldData(folder, self.config, self.state)
        self._privacy_ledger = PrivacyLedger(self.state, self.config.max_epsilon)
        self._host: tuple[tuple[str, Place, str], Population, Host] | None = None

    def answer(self, parts: list[bytes]) -> list[bytes]:
        """The reply to a request, whatever it is.

        Args:
            parts: The header of a request, and its message where there is one.

        Returns:
            The header of a reply, and its messages.
        """
        request = None
        try:
            header = parts[0] if parts else b""
            self._check_version(header)
            request = opened(Request, header)
            return self._small_enough(self._obey(request, parts[1:]))
        except FedkinError as error:  # also of a damaged or full disk: the server gets the reason
            why = str(error)
        # what no check foresaw must not end the host, which others will ask too
        except Exception as error:
            why = f"its host failed: {reasons.of_failure(error)}"
        run, experiment = (request.run, request.experiment) if request else ("", "")
        return [
            sealed(
                NodeReply(
                    version=self.version,
                    experiment=experiment,
                    run=run,
                    name=self.config.client,
                    error=reasons.without_folder_paths(why, self._folders()),
                )
            )
        ]

    def _check_version(self, header: bytes) -> None:
        """First of all: another version's header may have fields that this one does not know."""
        peer = protocol_version(header)
        if peer is not None and (peer.protocol, peer.version) != (PROTOCOL, self.version):
            raise Refused(
                f"this node's fedkin is {self.version[:20]} (protocol {PROTOCOL}), not "
                f"{peer.version[:20]} (protocol {peer.protocol}): install the same on all machines"
            )

    def _small_enough(self, parts: list[bytes]) -> list[bytes]:
        size, most = sum(map(len, parts)), self.config.max_bytes
        if size > most:
            raise Refused(
                f"its answer has {size:,} bytes, more than max_bytes = {most:,} in its node.toml: "
                "raise it there, and in deployment.toml"
            )
        return parts

    def _folders(self) -> list[Path]:
        """Of the node's files."""
        folders = [self.folder, self.folder.absolute(), self.folder.resolve()]
        data_file = self.config.data
        return folders if data_file is None else [*folders, (self.folder / data_file).parent]

    def _obey(self, request: Request, blobs: list[bytes]) -> list[bytes]:
        spec, experiment = self._experiment()
        self._check_addressee(request, experiment)
        reply = NodeReply(
            version=self.version, experiment=experiment, run=request.run, name=self.config.client
        )
        loaded = self._data.look(spec, experiment)
        spent = self._privacy_ledger.check(spec, request)
        if not request.steps or request.place is None:
            added = {"facts": loaded.facts, "clock": time.time()}
            return [sealed(reply.model_copy(update=added))]
        message = _checked_message(spec, request, blobs)
        data_digest = "" if loaded.facts is None else loaded.facts.digest
        secret = secret_at(self.state, spec, request.run, data_digest)
        log = RequestLog(self.state / request.run, data_digest, masked(spec, self.config.insecure))
        log.check(spec, request, message)
        host = self._host_at(spec, loaded, request.place, request.run)
        self._privacy_ledger.note(spec, request, spent, log.again() if spec.privacy.on else 0)
        node_store = NodeStore(self.state / request.run)
        describe = partial(self._about, spec, loaded, partial(_made_of, host, message))
        key = states_key(self.state, spec, request.run)
        work = Work(host, node_store, request, message, describe, log, secret, key)
        steps_done, sent = work.all()
        return [sealed(reply.model_copy(update={"steps": tuple(steps_done)})), *sent]

    def look(self) -> str:
        """What a start says of the node's data.

        Returns:
            Lines: their sizes, or why no run can have them.
        """
        return first_look(self._data, self._experiment)

    def _check_addressee(self, request: Request, experiment: str) -> None:
        """Refuse what is for another experiment or another node."""
        for field, requested, here in (
            ("experiment", request.experiment, experiment),
            ("client", request.name, self.config.client),
        ):
            if requested != here:
                raise Refused(f"this node's {field} is {here[:20]}, not {requested[:20]}")

    def _experiment(self) -> tuple[Spec, str]:
        """Read each time: who replaces the file accepts another experiment, at once."""
        return experiment_at(self.config, self.folder)

    def _about(
        self, spec: Spec, loaded: LoadedData, made: Callable[[], ModelSources]
    ) -> dict[str, Any]:
        """The description of the model that is kept here: the experiment, what its inputs were, and
        what it is made of.
        """
        encoding, facts = loaded.population.encoding, loaded.facts
        return {
            "version": self.version,
            "spec": spec.model_dump(mode="json"),
            "model_sources": made()._asdict(),
            "facts": None if facts is None else facts.model_dump(mode="json"),
            "encoding": None if facts is None or encoding is None else encoding.plain(),
        }

    def _host_at(self, spec: Spec, loaded: LoadedData, place: Place, run: str) -> Host:
        """Of one run: what waits to be masked there is revealed in no other, where nobody knows of
        what was revealed before.
        """
        cached, key = self._host, (loaded.experiment, place, run)
        if cached is None or cached[0] != key or cached[1] is not loaded.population:
            for loud in seeded_remarks(spec):
                print(f"run {run}: {loud}", flush=True)
            self._host = cached = (
                key,
                loaded.population,
                self._build(spec, loaded, place, run),
            )
        return cached[2]

    def _build(self, spec: Spec, loaded: LoadedData, place: Place, run: str) -> Host:
        population = loaded.population
        if loaded.facts is not None:
            if place.data != loaded.facts.digest:
                raise FedkinError(
                    "its data are not those that it joined the run with: put them back, or begin "
                    "another run"
                )
            if place.joined is None:
                check_clients(spec, place.clients)
            population = data.alone(spec, population, place)
        elif place.clients != population.clients or place.client >= place.clients:
            raise FedkinError(
                f"the experiment has {population.clients} clients, not {place.clients}"
            )
        if place.architecture not in ({self.config.model} if self.config.model else names_of(spec)):
            raise Refused(
                f"architecture {place.architecture!r} is not the one of this node or its experiment"
            )
        data.check_public(population, place)
        models, info = models_at(self.config, spec, population, place)
        batches = math.ceil(info.samples / spec.train.batch_size)
        steps_a_round = spec.train.steps or (spec.train.epochs or 1) * batches
        method = adapt_to_models(spec, method_of(spec), models)
        threshold = threshold_at(spec, place)
        method = with_protection(spec, method, threshold, info, models, population)
        identity = self._identity(spec, loaded.experiment, run)
        masking = masking_of(spec, method, threshold, place.clients, identity)
        return Host(
            method=method,
            models=models,
            infos={place.client: info},
            population=population,
            schedule=schedule_of(spec),
            resources=Resources(
                Runtime(spec.engine.compile, spec.run.rounds * steps_a_round), Memory()
            ),
            seed=spec.run.seed,
            measure=with_measure(spec, population, self.config.data is None).run.measure,
            # by its own experiment, whatever its server asks
            protection=Protection(masking=masking, train_scores=not spec.privacy.at_client),
            describe_error=reasons.of_failure,
        )

    def _identity(self, spec: Spec, experiment: str, run: str) -> Identity | None:
        """What signs for this node in secure aggregation, in one run."""
        if not masked(spec, self.config.insecure):
            return None
        return identity_at(self.folder, experiment, run)


def _made_of(host: Host, message: bytes | None) -> ModelSources:
    """What the personal model of a host's one client is made of beside such a message."""
    (info,) = host.infos.values()
    received = decode(message) if message else {}
    return model_sources(host.method, received, host.models[info.architecture], info)


def _checked_message(spec: Spec, request: Request, blobs: list[bytes]) -> bytes | None:
    """The message of a request, of finite numbers and known kinds; None where there is none."""
    if len(blobs) > 1:
        raise Refused("a request has at most one message")
    message = blobs[0] if blobs else None
    if message is not None and not _later_stage(request):
        down = decode(message)
        check_kinds(down, spec.method.name)
        check(down, down)  # finite numbers only
    return message


def _later_stage(request: Request) -> bool:
    """Whether a stage of secure aggregation is asked for, whose messages have a form of their own.

    Raises Refused where something else is asked beside it.
    """
    later = [step.op for step in request.steps if step.op in (*STAGES, *SCORING)]
    if later and len(request.steps) > 1:
        raise Refused(f"{later[0]} is asked for by itself")
    return bool(later)


def serve(node: Node) -> None:
    """Answer one caller after the other, until the process ends.

    Args:
        node: The client.
    """
    if sys.platform == "win32":
        not_here()
    socket = config.socket_of(node.folder, node.config)
    socket.unlink(missing_ok=True)
    with Listener(str(socket), family="AF_UNIX", backlog=16) as listener:
        print(f"host of {node.config.client} is ready", flush=True)
        print(node.look(), flush=True)  # callers wait meanwhile, as they would for a first message
        while True:
            try:
                with listener.accept() as caller:
                    _one(node, caller)
            # a caller that went away; what it asked for may be done all the same
            except (EOFError, OSError) as error:
                print(f"a caller left: {error}", file=sys.stderr)


def _one(node: Node, caller: "Connection[Any, Any]") -> None:
    if caller.poll(PATIENCE):
        local_socket.put(
            caller, node.answer(local_socket.take(caller, node.config.max_bytes + HEADER_BYTES))
        )


def main(folder: Path) -> None:
    """The host, with the node's state folder to itself.

    Args:
        folder: Of the node.

    Raises:
        FedkinError: Another host uses its folder of states.
    """
    os.umask(0o077)  # of all that is written: the folder of states is its owner's
    torch.set_num_threads(1)
    node = Node(folder.absolute())
    node.state.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(node.state / "host.lock", timeout=0):
            serve(node)
    except Timeout:
        raise FedkinError(f"{node.state} is in use by another host") from None


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        main(Path(sys.argv[1]))
    except FedkinError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
