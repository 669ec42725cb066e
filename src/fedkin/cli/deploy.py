"""``fedkin deploy``: the same experiment on real devices, with Flower (extra ``flower``)."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli.node.data import Node, check, columns, prepare
from fedkin.cli.node.model import export, predict
from fedkin.cli.options import AsJson, RoundsOfNewcomer, TrustCode
from fedkin.cli.talk.flower_extra import need_extra
from fedkin.experiment.terminal import ends_with_connection, note, say

app = typer.Typer(
    name="deploy",
    help="Train on real devices, with Flower (extra flower).",
    no_args_is_help=True,
)
Place = Annotated[
    Path, typer.Argument(metavar="DIR", help="Deployment folder.", show_default=False)
]


@app.command()
def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Deployment folder; must be new.", show_default=False),
    ],
    spec: Annotated[
        Path,
        typer.Option("--spec", metavar="SPEC.toml", help="Experiment file.", show_default=False),
    ],
    clients: Annotated[
        str,
        typer.Option("--clients", metavar="A,B,…", help="Names of the nodes.", show_default=False),
    ],
    address: Annotated[
        str,
        typer.Option(
            "--address", metavar="HOST:PORT", help="Address of the SuperLink, as nodes reach it."
        ),
    ] = "127.0.0.1:9092",
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Nodes use their share of the experiment's own data, for a rehearsal.",
        ),
    ] = False,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="No TLS, no node authentication; loopback addresses only."),
    ] = False,
    trust_code: TrustCode = False,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST",
            help="Address that the SuperLink binds; default: host of --address.",
        ),
    ] = None,
    node_port: Annotated[
        int,
        typer.Option(
            "--node-port",
            metavar="PORT",
            min=1,
            max=65535,
            help="Port of the first node's own runtime, on its loopback; each other has the next.",
        ),
    ] = 9101,
) -> None:
    """Write a deployment: certificates, keys, configuration, start scripts, README."""
    need_extra()
    from fedkin.core.system.user_code import find_user_code
    from fedkin.flower.config import NODE
    from fedkin.flower.deployable import unused
    from fedkin.flower.operator.fitted_scale import unscaled
    from fedkin.flower.operator.readme import imports_line
    from fedkin.flower.operator.site import init as write
    from fedkin.runs.spec import parse, read
    from fedkin.runs.trust import require
    from fedkin.setup.user_code import code_of, permit

    content, text = read(spec)
    chosen, _ = parse(content, text, str(spec))
    require(spec, chosen, code_of(chosen), trust_code)
    permit(chosen)
    find_user_code()  # what the method needs is asked before anything is written
    names = [name.strip() for name in clients.split(",") if name.strip()]
    made = write(
        folder,
        chosen,
        names,
        address,
        own_data=not rehearse,
        insecure=insecure,
        listen=listen,
        node_port=node_port,
    )
    for why in () if rehearse else (unused(chosen), unscaled(chosen)):
        if why is not None:
            note(why)
    if code := code_of(chosen):
        note(
            f"a node refuses code that its owner did not allow: each {NODE} needs "
            f"{imports_line(code)}, and every machine the modules"
        )
    say(f"{made / 'README.md'} says how to go on")


@app.command()
def renew(folder: Place) -> None:
    """Sign new certificates for a year, with the deployment's own key (certs/ca.key)."""
    need_extra()
    from fedkin.flower.operator.site import renew as sign

    nodes = sign(folder)
    say(f"{folder}/certs is new: start the SuperLink again, and carry certs/ca.crt to every node")
    if nodes:
        say(f"(already in the folders here of {', '.join(nodes)})")


@app.command()
def superlink(folder: Place) -> None:
    """Run the SuperLink and register the nodes' keys; for a supervisor."""
    need_extra()
    from fedkin.flower.operator.supervisor import superlink as keep

    keep(folder)


@app.command()
def node(folder: Node) -> None:
    """Run a node: its host and its SuperNode; for a supervisor."""
    need_extra()
    from fedkin.flower.operator.supervisor import node as keep

    keep(folder)


app.command()(columns)
app.command()(prepare)
app.command()(check)


@app.command()
def run(
    folder: Place,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the last run from its last committed round.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train on the nodes. The run directory is in DIR/runs."""
    need_extra()
    from fedkin.cli.talk.training import train, train_quietly
    from fedkin.core.system.user_code import find_user_code
    from fedkin.flower.operator.earlier_costs import earlier_costs
    from fedkin.flower.operator.submit import prepared, submit
    from fedkin.runs.database import before_resume
    from fedkin.runs.directory import has_begun
    from fedkin.setup.user_code import permit

    deployable = prepared(folder, resume)
    permit(deployable.spec)  # the folder is its operator's own
    find_user_code()
    done = before_resume(deployable.out) if has_begun(deployable.out) else (0, 0)
    if not resume and (before_it := earlier_costs(folder, deployable.spec)):
        note(before_it)
    work = partial(submit, folder, deployable.out)
    if ends_with_connection():
        note(
            "when this SSH connection breaks, the run ends after its round, and --resume "
            "continues it: to let it go on, begin it in tmux or with nohup"
        )
    if as_json:
        train_quietly(deployable.spec, work, new=deployable.looked_at)
    else:
        train(deployable.spec, work, done, new=deployable.looked_at, divided=deployable.divided)


@app.command()
def status(folder: Place, as_json: AsJson = False) -> None:
    """Say which nodes are connected and how far the last run is, without starting anything."""
    need_extra()
    from fedkin.cli.talk.deployment import print_status
    from fedkin.flower.operator.earlier_costs import costs_of_runs
    from fedkin.flower.operator.status import status as look

    print_status(look(folder, costs := costs_of_runs(folder)), costs, as_json)


@app.command()
def add(
    folder: Place,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new node.", show_default=False)
    ],
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=1, max=65535, help="Of its runtime; default: the next."),
    ] = None,
) -> None:
    """Write the folder of a new node and register its key at the SuperLink."""
    need_extra()
    from fedkin.flower.commands import deploy as command
    from fedkin.flower.identities import PEERS
    from fedkin.flower.operator.registration import register_now
    from fedkin.flower.operator.site import add as write

    made = write(folder, name, port)
    here = register_now(folder, name)
    when = "it is registered" if here else "the SuperLink registers it when it starts"
    say(f"{made}: {when}; put its data there, carry the folder to its machine and start it,")
    say(f"then: {command('join', folder, name)}")
    if (folder / PEERS).is_file():
        say(f"({PEERS} is new: carry it to every node before {name} becomes a client)")


@app.command()
def join(
    folder: Place,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the new node.", show_default=False)
    ],
    number: Annotated[
        int | None,
        typer.Option("--run", metavar="N", help="Run to join; default: the last one."),
    ] = None,
    rounds: RoundsOfNewcomer = None,
    as_json: AsJson = False,
) -> None:
    """Train a personal model for a new node. No other node takes part, the model stays there."""
    need_extra()
    from fedkin.cli.join import print_outcome
    from fedkin.flower.operator.joining import join as work

    print_outcome(work(folder, name, number, rounds), as_json)


app.command()(export)
app.command()(predict)
