"""The server app: the coordinator over the nodes of a Flower federation, into an ordinary run directory."""

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedkin.assemble import Assembled, around, assemble, method_of, resolved
from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.engine.coordinator import participants
from fedkin.engine.store import write_file
from fedkin.engine.transport import Transport
from fedkin.experiment import Engine, Interrupted, Progress, resume, run
from fedkin.facts import versions
from fedkin.flower import config, data
from fedkin.flower.envelope import Facts, Place
from fedkin.flower.transport import Federation, FlowerTransport, Postman, hello
from fedkin.runs.database import read_only
from fedkin.runs.record import Record
from fedkin.runs.spec import Spec

ENDED, STOP, NODES = "ended.json", "stop", "nodes.json"

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Flower's entry: where the deployment lies and where the run goes are in the run's configuration."""
    folder, out = (Path(str(context.run_config[key])) for key in ("deployment", "out"))
    torch.set_num_threads(1)
    try:
        serve(grid, folder, out)
    except Interrupted:
        ended(folder, f"stopped after a round; continue with: fedkin deploy run {folder} --resume")
        raise
    except FedkinError as error:
        ended(folder, str(error))
        raise
    except BaseException as error:
        ended(folder, f"{type(error).__name__}: {error}")
        raise
    ended(folder, None)


def ended(folder: Path, error: str | None) -> None:
    """Leave word for ``fedkin deploy run``, which watches from another process."""
    write_file(folder / ENDED, json.dumps({"error": error}).encode())


def serve(grid: Grid, folder: Path, out: Path) -> Path:
    """Begin the run in ``out``, or continue it where there is one."""
    deployment = config.load(config.Deployment, folder, config.DEPLOYMENT)
    spec = config.spec_of(folder)
    begun = (out / "run.db").is_file()
    token = secrets.token_hex(8)
    if begun:
        with read_only(out) as database:
            token = str(database.facts().get("deployment", ""))
    about = Federation(config.fingerprint(spec), token, versions()["fedkin"])
    postman = Postman(grid, deployment, about)
    known = out / NODES
    facts = _known(known) if begun and known.is_file() else hello(postman, deployment.wait)
    engine = Fleet(deployment, postman, facts).engine()

    progress = progress_of(folder, known, facts)
    return resume(out, progress=progress, engine=engine) if begun else run(spec, out, progress=progress, engine=engine)


def progress_of(folder: Path, known: Path, facts: dict[str, Facts | None]) -> Progress:
    """After every round: keep what the nodes told in the run directory, and look whether somebody wants to stop."""

    def progress(record: Record) -> None:
        if not known.is_file():
            told = {name: fact and fact.model_dump(mode="json") for name, fact in facts.items()}
            write_file(known, json.dumps(told).encode())
        if (folder / STOP).exists() and record.phase != "finish":
            (folder / STOP).unlink()
            raise Interrupted(f"stopped in round {record.round}; continue with: fedkin deploy run {folder} --resume")

    return progress


def _known(path: Path) -> dict[str, Facts | None]:
    found = json.loads(path.read_text())
    return {
        name: None if content is None else Facts.model_validate_json(json.dumps(content))
        for name, content in found.items()
    }


class Fleet:
    """The nodes of a deployment as an Engine."""

    def __init__(self, deployment: config.Deployment, postman: Postman, facts: dict[str, Facts | None]) -> None:
        self.deployment, self.postman, self.facts = deployment, postman, facts

    def engine(self) -> Engine:
        return Engine(self.assemble, self.connect, {"deployment": self.postman.about.run})

    def assemble(self, spec: Spec, method: Method | None) -> Assembled:
        """The server's objects: without anybody's data where nodes have their own."""
        parts = self._unseen(spec, method) if self.deployment.own_data else assemble(spec, method)
        if len(parts.infos) != len(self.deployment.clients):
            raise FedkinError(
                f"the experiment has {len(parts.infos)} clients, the deployment {len(self.deployment.clients)} names: "
                "set run.clients"
            )
        return parts

    def _unseen(self, spec: Spec, method: Method | None) -> Assembled:
        method = method_of(spec, method)
        names = self.deployment.clients
        facts = [told for name in names if (told := self.facts[name]) is not None]
        if len(facts) < len(names):
            raise FedkinError("a node has no data of its own: name its file in node.toml, or set own_data = false")
        if method.needs.pooled:
            raise FedkinError(f"{method.name} needs everybody's data in one place")
        parts = around(resolved(spec, method), method, data.unseen(spec, names, facts))
        # nobody has told how many samples of which class it holds
        infos = {k: info._replace(histogram=torch.zeros_like(info.histogram)) for k, info in parts.infos.items()}
        return parts._replace(infos=infos, federation=parts.federation._replace(infos=infos))

    @contextlib.contextmanager
    def connect(self, parts: Assembled, folder: Path) -> Iterator[Transport]:
        """The transport of a run."""
        places = {
            client: (
                self.deployment.clients[client],
                Place(
                    client=client,
                    clients=len(parts.infos),
                    classes=parts.population.classes,
                    architecture=info.architecture,
                    data="" if (told := self.facts[self.deployment.clients[client]]) is None else told.digest,
                ),
            )
            for client, info in parts.infos.items()
        }
        rounds = parts.spec.run.rounds

        def then(number: int) -> Sequence[tuple[str, int, Sequence[int]]]:
            """What the coordinator asks for after the evaluation of a round, with the same messages down."""
            if number < rounds:
                return [("local", number + 1, participants(parts.method, parts.federation, number + 1))]
            everyone: Any = sorted(parts.infos)
            last = [("evaluate_all", rounds + 1, everyone)]
            return last if parts.method.finish is None else [("finish", rounds + 1, everyone), *last]

        yield FlowerTransport(self.postman, places, then)
