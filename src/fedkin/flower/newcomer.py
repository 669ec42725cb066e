"""A node that was not in a run joins it: the server's state stands still, and no other node is
asked for anything.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from flwr.serverapp import Grid

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.core.method import ClientInfo
from fedkin.engine.op import TaskResult
from fedkin.experiment.run_facts import versions
from fedkin.flower import config
from fedkin.flower.backend import NODES, FlowerBackend, known_facts
from fedkin.flower.commands import deploy
from fedkin.flower.dispatcher import Dispatcher, RunIdentity
from fedkin.flower.envelope import Base, Facts, Place, RemoteStep
from fedkin.flower.node.data import COLUMNS, digest_of_public, same_columns
from fedkin.flower.run_start import RUN, check_experiment
from fedkin.flower.stopping import stop_if_asked
from fedkin.flower.transport import answers_of
from fedkin.flower.waiting import hello
from fedkin.newcomers.join import FOLDER, FOUND
from fedkin.newcomers.local import Learned, described_by, place_for, standing
from fedkin.newcomers.protocol import Ask, join
from fedkin.runs.checkpoint import SERVER
from fedkin.runs.directory import path_in_run
from fedkin.runs.output_files import no_empty_folder
from fedkin.runtime.replay import Runtime
from fedkin.setup.architectures import names_of
from fedkin.setup.frozen import digest
from fedkin.setup.snapshot import snapshot
from fedkin.setup.user_code import permit


class RemoteNewcomer:
    """A newcomer on its node. What it is asked in each place is a run of its own there.

    Args:
        grid: Flower's.
        deployment: Its configuration, with the newcomer as the only client.
        about: What every request says.
        place: The newcomer's place in the federation.
        stop: The file by which somebody ends it, between two questions; None: nobody can.
    """

    def __init__(
        self,
        grid: Grid,
        deployment: config.Deployment,
        about: RunIdentity,
        place: Place,
        stop: Path | None = None,
    ) -> None:
        self.grid, self.deployment, self.about, self.place = grid, deployment, about, place
        self.stop = stop
        self._left: dict[tuple[int, int], Base] = {}

    def ask(self, ask: Ask) -> list[TaskResult]:
        """Send it what it is asked, and wait for the answers.

        Args:
            ask: Steps, one after the other, with one message.

        Returns:
            One answer a step, in order.

        Raises:
            Interrupted: Somebody wants it to end.
        """
        stop_if_asked(self.stop, f"stopped before round {ask.steps[0][1]}")
        about = self.about._replace(run=run_of(self.about.run, ask.place))
        (name,) = self.deployment.clients
        dispatcher = Dispatcher(self.grid, self.deployment, about)
        steps = tuple(RemoteStep(op=op, round=round) for op, round in ask.steps)
        base = self._left.get((ask.place, ask.base), Base())
        request = dispatcher.request(name, place=self.place, base=base, keep=ask.keep, steps=steps)
        answers = answers_of(
            self.place.client, ask.steps, dispatcher.exchange({name: (request, ask.message)})[name]
        )
        for (_, round), (answer, own) in zip(ask.steps, answers, strict=True):
            if answer.error is None and own.round == round:
                self._left[ask.place, round] = own
        return [answer for answer, _ in answers]


def run_of(token: str, place: int) -> str:
    """What a node calls the run of a newcomer's place: its states lie in a folder of this name.

    Args:
        token: Of the join.
        place: Its number, from 0.

    Returns:
        Hexadecimal digits.
    """
    return f"{token}{place:04x}"


def serve(
    grid: Grid,
    folder: Path,
    out: Path,
    name: str,
    rounds: int | None,
    waiting: Path | None = None,
    stop: Path | None = None,
) -> dict[str, Any]:
    """Let a node join a run, finished or not. What came of it goes to out/joined/NAME.

    Args:
        grid: Flower's.
        folder: Of the deployment.
        out: The run directory.
        name: Of the node.
        rounds: Rounds of work, 0 or more; None: its validation data choose.
        waiting: Where it is left that its node is waited for; None: nowhere.
        stop: The file by which somebody ends it, between two questions; None: nobody can.

    Returns:
        What came of it, as plain values.

    Raises:
        FedkinError: It is no newcomer of the deployment, has no data of its own, or is to work more
            rounds than the run has; or its file cannot be written, or is reached through a link.
    """
    deployment = config.load(config.Deployment, folder, config.DEPLOYMENT)
    if name not in deployment.newcomers:
        raise FedkinError(
            f"{name} is no newcomer of this deployment: {deploy('add', folder, name)}"
        )
    file = path_in_run(out, FOLDER, name, FOUND)
    alone = deployment.model_copy(update={"clients": (name,)})
    run, about = _learned(folder, out, deployment, grid)
    facts = hello(Dispatcher(grid, alone, about), deployment.wait, waiting, stop)[name]
    if facts is None:
        raise FedkinError(f"{name} has no data of its own: name its file in node.toml")
    place, info = _place(run, name, facts)
    _check_rounds(rounds, run.parts.spec.run.rounds)
    newcomer = RemoteNewcomer(grid, alone, about, place, stop)
    joined = join(standing(run, info, facts.val), newcomer, rounds, run.round)
    content = {
        "run": str(out),
        "client": name,
        "method": run.parts.method.name,
        "after_round": run.round,
        "measure": run.parts.spec.run.measure,
        **described_by(joined, facts.train, facts.val, facts.test),
        "model": f"on its node, in state/{run_of(about.run, joined.place)}",
    }
    _write(file, content)
    return content


def _check_rounds(rounds: int | None, most: int) -> None:
    """A node refuses further rounds than the run has."""
    if rounds is not None and rounds > most:
        raise FedkinError(
            f"--rounds {rounds}: a newcomer works at most as many rounds as the run has, {most}"
        )


def _write(file: Path, content: dict[str, Any]) -> None:
    try:
        with no_empty_folder(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, json.dumps(content, indent=2).encode())
    except OSError as error:
        raise FedkinError(
            f"{file} cannot be written ({error.strerror}), but its model is on its node: fix "
            "that, and join again"
        ) from None


def _learned(
    folder: Path, out: Path, deployment: config.Deployment, grid: Grid
) -> tuple[Learned, RunIdentity]:
    """The run at its last commit."""
    spec = config.spec_of(folder)
    permit(spec)
    with tempfile.TemporaryDirectory(prefix="fedkin-") as aside:
        at = snapshot(out, Path(aside), [SERVER])
        state = at.server
    if state is None:
        raise FedkinError(f"{out} has no committed round that could be joined")
    about = RunIdentity(config.fingerprint(spec), str(at.facts.get(RUN, "")), versions()["fedkin"])
    check_experiment(at.facts, about.experiment, out, "name another run with --run")
    known = known_facts(out / NODES)
    then = deployment.model_copy(update={"clients": tuple(known)})  # who may be others by now
    backend = FlowerBackend(then, Dispatcher(grid, then, about), known)
    return Learned(
        backend.assemble(config.at_home(spec, folder), None), state, at.trained, Runtime()
    ), about


def _place(run: Learned, name: str, facts: Facts) -> tuple[Place, ClientInfo]:
    people = run.parts.population
    known = tuple(map(str, people.truth.get(COLUMNS, ())))
    if facts.columns and known:
        same_columns(name, facts.columns, "the run's nodes", known)
    for what, mine, theirs in (
        ("shape", facts.shape, tuple(people.x.shape[1:])),
        ("dtype", facts.dtype, str(people.x.dtype).removeprefix("torch.")),
        ("task", facts.task, people.task),
    ):
        if mine != theirs:
            raise FedkinError(f"the data of {name} have {what} {mine}, those of the run {theirs}")
    if facts.classes > people.classes:
        raise FedkinError(f"{name} has {facts.classes} classes, the run {people.classes}")
    number, default = place_for(run.parts, facts.train, None)
    architecture, method = facts.architecture or default, run.parts.method
    if architecture not in names_of(run.parts.spec) and method.distillation_target is None:
        raise FedkinError(
            f"{method.name} needs everybody's parameters: {architecture} is none of the run's "
            "models"
        )
    place = Place(
        client=number,
        clients=number + 1,
        classes=people.classes,
        architecture=architecture,
        data=facts.digest,
        joined=run.round,
        frozen=digest(run.parts.models[architecture]) if architecture in run.parts.models else "",
        public=digest_of_public(people),
    )
    public = 0 if people.public is None else len(people.public)
    return place, ClientInfo(
        number, architecture, facts.train, torch.zeros(people.classes), public, people.classes
    )
