"""The nodes of a deployment as an Engine: the server's objects, and how its nodes are reached."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from fedkin.core.errors import FedkinError, some
from fedkin.core.files import read_file
from fedkin.core.method import Method
from fedkin.core.tree import Tree
from fedkin.engine.op import LAST, WORK
from fedkin.engine.round.schedule import replies_for
from fedkin.engine.transports.base import Transport
from fedkin.experiment.training import Engine
from fedkin.export.shared import shared_view
from fedkin.flower import config
from fedkin.flower.deployable import check_deployable, check_not_pooled
from fedkin.flower.dispatcher import Dispatcher
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.node import data
from fedkin.flower.run_start import FINGERPRINT, RUN
from fedkin.flower.survivors import SURVIVORS, Survivors
from fedkin.flower.transport import FlowerTransport, Following
from fedkin.masks.signatures import Verify
from fedkin.runs.directory import OWN, SHARED_MODEL
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import architectures_of
from fedkin.setup.build import Assembled, assemble, assemble_with_population, method_of
from fedkin.setup.frozen import digest
from fedkin.setup.noise_calibration import calibrate_noise
from fedkin.setup.population import rooted
from fedkin.setup.secure_aggregation import check_clients

NODES = "nodes.json"  # in the run directory: what the nodes reported of their data
LARGEST = 1 << 30  # bytes of it


def known_facts(path: Path) -> dict[str, Facts | None]:
    """What the nodes of a run sent about their data when it began.

    Args:
        path: Of the run's nodes.json.

    Returns:
        {node: what it sent}; None of a node that had its part of [data].

    Raises:
        FedkinError: It is missing or damaged.
    """
    try:
        facts = json.loads(read_file(path, LARGEST))
        return {
            name: None if content is None else Facts.model_validate_json(json.dumps(content))
            for name, content in facts.items()
        }
    except FileNotFoundError:
        raise FedkinError(
            f"{path} is missing, which says what the nodes' data are like: copy the whole run "
            "directory"
        ) from None
    except (AttributeError, OSError, RecursionError, ValueError):  # pydantic's is a ValueError
        raise FedkinError(f"{path} is damaged: copy the run directory again") from None


def unseen(
    spec: Spec,
    method_value: Method | None,
    clients: Sequence[str],
    facts_of_node: Mapping[str, Facts | None],
) -> Assembled:
    """The server's objects where nodes have data of their own: it sees no sample, only the facts
    that each node sent about its data.

    Args:
        spec: The experiment.
        method_value: A Method value in place of [method]; None: there is none.
        clients: Names of the nodes, in the order of client numbers.
        facts_of_node: {node: what it sent about its data}.

    Returns:
        Objects in whose population nobody has a sample.

    Raises:
        FedkinError: A node was not in the run or has no data of its own, or the method needs what
            no node may send.
    """
    spec = calibrate_noise(rooted(spec))
    method = method_of(spec, method_value)
    check_clients(spec, len(clients))
    if stranger := next((name for name in clients if name not in facts_of_node), None):
        raise FedkinError(
            f"{stranger} was not in this run: name the clients that were: {some(facts_of_node)}"
        )
    facts = [known for name in clients if (known := facts_of_node[name]) is not None]
    if len(facts) < len(clients):
        raise FedkinError(
            "a node has no data of its own: name its file in node.toml, or set own_data = false"
        )
    check_not_pooled(method)
    if spec.model.target == "auto":  # nobody knows what the labels are like
        spec = spec.replace("model", target="none")
    if spec.model.target == "standard":
        raise FedkinError(
            "nodes keep their labels: give model.target the labels' mean and deviation, [μ, σ]"
        )
    named = architectures_of(spec, [known.train for known in facts])
    held = [known.architecture or name for known, name in zip(facts, named, strict=True)]
    parts = assemble_with_population(spec, method_value, data.unseen(spec, clients, facts), held)
    # no node sends how many samples of which class it holds
    infos = {
        k: info._replace(histogram=torch.zeros_like(info.histogram))
        for k, info in parts.infos.items()
    }
    return parts._replace(infos=infos, federation=parts.federation._replace(infos=infos))


def shared_model(parts: Assembled, state: Tree) -> dict[str, bool]:
    """Whether all clients of a finished run share one model, as a fact: who reads the record then
    needs neither the method nor torch to tell.

    Args:
        parts: What the run was assembled of.
        state: The server's last.

    Returns:
        A fact of the run's record, by its name.
    """
    try:
        shared_view(parts.method, state, parts.models, parts.infos)
    except Exception:  # of any kind: a method may do anything, and the run is finished
        return {SHARED_MODEL: False}
    return {SHARED_MODEL: True}


class FlowerBackend:
    """The nodes of a deployment as an Engine.

    Args:
        deployment: Its configuration.
        dispatcher: Reaches the nodes.
        facts: {node: what it sent about its data}.
        verify: Nodes' signatures, where they sign the keys of their masks; None: nobody signs.
    """

    def __init__(
        self,
        deployment: config.Deployment,
        dispatcher: Dispatcher,
        facts: dict[str, Facts | None],
        verify: Verify | None = None,
    ) -> None:
        self.deployment, self.dispatcher, self.facts = deployment, dispatcher, facts
        self.verify = verify  # nodes' signatures, where they sign the keys of their masks

    def engine(self) -> Engine:
        """What a run is trained with.

        Returns:
            Where clients are, and what the run's record says of it.
        """
        return Engine(self.assemble, self.connect, self._noted(), shared_model)

    def _noted(self) -> dict[str, str]:
        about = self.dispatcher.about
        split = {"split": OWN} if self.deployment.own_data else {}
        return {RUN: about.run, FINGERPRINT: about.experiment, **split}

    def assemble(self, spec: Spec, method: Method | None) -> Assembled:
        """The server's objects: without anybody's data where nodes have their own.

        Args:
            spec: The experiment.
            method: A Method value in place of [method]; None: there is none.

        Returns:
            The server's objects.

        Raises:
            FedkinError: The experiment cannot be deployed, or has another number of clients.
        """
        check_deployable(spec)
        own, names = self.deployment.own_data, self.deployment.clients
        parts = unseen(spec, method, names, self.facts) if own else assemble(spec, method)
        if len(parts.infos) != len(self.deployment.clients):
            raise FedkinError(
                f"the experiment has {len(parts.infos)} clients, the deployment "
                f"{len(self.deployment.clients)} names: "
                "set run.clients"
            )
        return parts._replace(federation=parts.federation._replace(verify=self.verify))

    @contextlib.contextmanager
    def connect(self, parts: Assembled, folder: Path) -> Iterator[Transport]:
        """The transport of a run.

        Args:
            parts: The server's objects.
            folder: The run directory.

        Yields:
            What reaches all nodes.
        """
        frozen = {name: digest(model) for name, model in parts.models.items()}
        public = data.digest_of_public(parts.population)
        places = {}
        for client, info in parts.infos.items():
            name = self.deployment.clients[client]
            known = self.facts[name]
            places[client] = (
                name,
                Place(
                    client=client,
                    clients=len(parts.infos),
                    classes=parts.population.classes,
                    architecture=info.architecture,
                    data="" if known is None else known.digest,
                    frozen=frozen.get(info.architecture, ""),
                    public=public,
                ),
            )
        rounds, privacy = parts.spec.run.rounds, parts.spec.privacy
        schedule = parts.scheduling(parts.method, parts.federation)

        def then(number: int) -> Sequence[Following]:
            """What the coordinator asks for after the evaluation of a round, with the same messages
            down. With noise a round begins when the one before it is committed: begun twice, from
            two models, it would be released twice. So does the finish, after which a node would
            take no other model, where the server's noise makes another one of a round done again.
            """
            if privacy.on and (number < rounds or not privacy.at_client):
                return []
            if number < rounds:
                return [(WORK, number + 1, schedule.participants(number + 1))]
            everyone: Any = sorted(parts.infos)
            last: list[Following] = [(LAST, rounds + 1, schedule.evaluated(rounds, True))]
            return (
                last if parts.method.finalize is None else [("finish", rounds + 1, everyone), *last]
            )

        needed = partial(replies_for, schedule=schedule, federation=parts.federation)
        survivors = Survivors(folder / SURVIVORS)
        yield FlowerTransport(self.dispatcher, places, then, needed, survivors)
