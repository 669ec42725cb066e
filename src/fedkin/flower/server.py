"""The server app: the coordinator over the nodes of a Flower federation, into an ordinary run
directory.
"""

import json
import secrets
from functools import partial
from pathlib import Path

import torch
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedkin.core.errors import FedkinError
from fedkin.core.files import write_file
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.run_facts import versions
from fedkin.experiment.training import Interrupted, Progress
from fedkin.flower import config, newcomer
from fedkin.flower.backend import NODES, FlowerBackend, known_facts
from fedkin.flower.dispatcher import Dispatcher, RunIdentity
from fedkin.flower.envelope import Facts
from fedkin.flower.identities import masked, verifier
from fedkin.flower.run_start import RUN, check_clients, check_experiment, facts_at
from fedkin.flower.stopping import StoppedByTerminal, join_again, run_again, stop_if_asked
from fedkin.flower.waiting import hello, hello_again
from fedkin.runs.directory import has_begun, recorded
from fedkin.runs.record import Record

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Flower's entry: where the deployment lies and where the run goes are in the run's
    configuration.

    Args:
        grid: Flower's.
        context: With the run's number and its configuration.

    Raises:
        FedkinError: The run could not go on; the same sentence is left for who watches.
    """
    folder, out, name, rounds = (
        str(context.run_config[key]) for key in ("deployment", "out", "join", "rounds")
    )
    torch.set_num_threads(1)
    number = str(context.run_id)
    word, stop, waiting = (
        of(Path(folder), number) for of in (config.ended_of, config.stop_of, config.waiting_of)
    )
    try:
        if name:
            most = int(rounds) if rounds else None
            newcomer.serve(grid, Path(folder), Path(out), name, most, waiting, stop)
        else:
            serve(grid, Path(folder), Path(out), stop, waiting)
    except Interrupted as error:
        what = str(error) if isinstance(error, StoppedByTerminal) else "stopped"
        again = (
            join_again(folder, Path(out), name, rounds) if name else run_again(folder, Path(out))
        )
        ended(word, f"{what}; {again}", interrupted=True)
        raise
    except FedkinError as error:
        ended(word, str(error))
        raise
    except BaseException as error:
        ended(word, f"{type(error).__name__}: {error}")
        raise
    ended(word, None)


def ended(word: Path, error: str | None, interrupted: bool = False) -> None:
    """Leave word for who watches from another process.

    Args:
        word: Where it is left.
        error: Why it ended; None: it came to its end.
        interrupted: Whether somebody stopped it.
    """
    write_file(word, json.dumps({"error": error, "interrupted": interrupted}).encode())


def serve(grid: Grid, folder: Path, out: Path, stop: Path, waiting: Path | None = None) -> Path:
    """Begin a run, or continue it where there is one.

    Args:
        grid: Flower's.
        folder: Of the deployment.
        out: The run directory.
        stop: The file by which somebody ends it after a round.
        waiting: Where it is left which nodes are waited for; None: nowhere.

    Returns:
        The run directory.

    Raises:
        FedkinError: The run began with another experiment or other clients, or cannot go on.
        Interrupted: ``stop`` is there.
    """
    deployment = config.load(config.Deployment, folder, config.DEPLOYMENT)
    spec = config.spec_of(folder)
    goes_on = has_begun(out)
    about = RunIdentity(config.fingerprint(spec), secrets.token_hex(8), versions()["fedkin"])
    if goes_on:
        noted = facts_at(out)
        check_experiment(noted, about.experiment, out, "begin another run")
        if recorded(out):  # else nobody was asked for anything under the name that it had
            about = about._replace(run=str(noted.get(RUN, "")))
    dispatcher = Dispatcher(grid, deployment, about)
    known = out / NODES
    if goes_on and known.is_file():
        facts = known_facts(known)
        check_clients(facts, deployment.clients, out)
        hello_again(dispatcher, deployment.wait, waiting, stop)
    else:
        facts = hello(dispatcher, deployment.wait, waiting, stop)
    signed = masked(spec, deployment.insecure)
    verify = verifier(folder, about.experiment, about.run) if signed else None
    engine = FlowerBackend(deployment, dispatcher, facts, verify).engine()

    progress = progress_of(stop, known, facts)
    # the deployment's folder is its operator's own, and so is the code that its experiment names
    train = (
        partial(resume, trust_code=True) if goes_on else partial(run, config.at_home(spec, folder))
    )
    return train(out, progress=progress, engine=engine)


def progress_of(stop: Path, known: Path, facts: dict[str, Facts | None]) -> Progress:
    """What is done after every round: keep what the nodes reported in the run directory, and look
    whether somebody wants it to end.

    Args:
        stop: The file by which somebody does.
        known: Where the report goes, once.
        facts: {node: what it sent about its data}.

    Returns:
        Takes the record of a round; raises Interrupted where ``stop`` is there.
    """

    def progress(record: Record) -> None:
        if not known.is_file():
            plain = {name: fact and fact.model_dump(mode="json") for name, fact in facts.items()}
            write_file(known, json.dumps(plain).encode())
        if record.phase != "finish":
            stop_if_asked(stop, f"stopped in round {record.round}")

    return progress
