"""``fedkin deploy``: the same experiment on real devices, with Flower (extra ``flower``)."""

from pathlib import Path
from typing import Annotated

import typer

from fedkin.cli.reading import AsJson, TrustCode
from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import POSIX
from fedkin.experiment.terminal import say

app = typer.Typer(
    name="deploy",
    help=r"Train on real devices, with Flower (pip install 'fedkin\[flower]').",
    no_args_is_help=True,
)
Place = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of a deployment.", show_default=False)
]
Node = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of a node.", show_default=False)
]
KeptRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="ID",
        help="The run's folder in state, or its first letters; default: the last run.",
    ),
]


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)
    ],
    spec: Annotated[
        Path,
        typer.Option("--spec", metavar="SPEC.toml", help="The experiment.", show_default=False),
    ],
    clients: Annotated[
        str,
        typer.Option(
            "--clients", metavar="A,B,…", help="A name for every node.", show_default=False
        ),
    ],
    address: Annotated[
        str,
        typer.Option("--address", metavar="HOST:PORT", help="The SuperLink's, as nodes dial it."),
    ] = "127.0.0.1:9092",
    rehearse: Annotated[
        bool,
        typer.Option(
            "--rehearse",
            help="Nodes take their part of the experiment's [data]: no files of their own.",
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
            help="What the SuperLink binds, if not the host of --address; 0.0.0.0: all.",
        ),
    ] = None,
) -> None:
    """Write a deployment: certificates, keys, configuration, start scripts, a README for the
    operator.
    """
    _extra()
    from fedkin.flower.operator.site import init as write
    from fedkin.runs.spec import parse, read
    from fedkin.runs.trust import require
    from fedkin.setup.architectures import code_of

    content, text = read(spec)
    chosen, _ = parse(content, text, str(spec))
    require(spec, chosen, code_of(chosen), trust_code)
    names = [name.strip() for name in clients.split(",") if name.strip()]
    made = write(
        folder, chosen, names, address, own_data=not rehearse, insecure=insecure, listen=listen
    )
    say(f"{made / 'README.md'} says how to go on")


@app.command()
def renew(folder: Place) -> None:
    """Sign new certificates for a year, with the deployment's own key (certs/ca.key)."""
    _extra()
    from fedkin.flower.operator.site import renew as sign

    nodes = sign(folder)
    say(f"{folder}/certs is new: start the SuperLink again, and carry certs/ca.crt to every node")
    if nodes:
        say(f"(already in the folders here of {', '.join(nodes)})")


@app.command()
def superlink(folder: Place) -> None:
    """Run the SuperLink and register the nodes' keys; for a supervisor."""
    _extra()
    from fedkin.flower.operator.supervisor import superlink as keep

    keep(folder)


@app.command()
def node(folder: Node) -> None:
    """Run a node: its host and its SuperNode; for a supervisor."""
    _extra()
    from fedkin.flower.operator.supervisor import node as keep

    keep(folder)


@app.command()
def run(
    folder: Place,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the last run from its last committed round.")
    ] = False,
) -> None:
    """Train on the nodes; a run directory like any other, in DIR/runs."""
    _extra()
    from fedkin.cli.training import train
    from fedkin.experiment.before_resume import before
    from fedkin.flower.operator.submit import launch, prepared
    from fedkin.runs.directory import begun

    spec, out = prepared(folder, resume)
    done = before(out) if begun(out) else (0, 0)
    train(spec, lambda progress: launch(folder, out, progress), done)


@app.command()
def add(
    folder: Place,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Of the new node.", show_default=False)
    ],
) -> None:
    """Write the folder of a node that comes later, and register its key where the
    SuperLink is up.
    """
    _extra()
    from fedkin.flower.operator.site import add as write
    from fedkin.flower.operator.supervisor import register_now

    made = write(folder, name)
    when = (
        "it is registered" if register_now(folder) else "the SuperLink registers it when it starts"
    )
    say(f"{made}: {when}; put its data there, carry the folder to its machine and start it,")
    say(f"then: fedkin deploy join {folder} {name}")


@app.command()
def join(
    folder: Place,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Of the new node.", show_default=False)
    ],
    number: Annotated[
        int | None,
        typer.Option("--run", metavar="N", help="The run that it joins; else the last one."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", metavar="N", min=0, help="Rounds of work; else validation data choose."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A personal model for a node that was not in a run, while no other node works; it stays on the
    node.
    """
    _extra()
    from fedkin.cli.join import tell
    from fedkin.flower.operator.submit import join as work

    tell(work(folder, name, number, rounds), as_json)


@app.command()
def export(
    folder: Node,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="safetensors, pt2 or onnx.")
    ] = "safetensors",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="A folder; default: NODE/export.")
    ] = None,
    run: KeptRun = None,
) -> None:
    """On a node: its own model as a file with a card, for programs without fedkin. Nobody else is
    asked.
    """
    from fedkin.cli.export import tell_file
    from fedkin.core.errors import unknown
    from fedkin.export.export import export as write
    from fedkin.export.formats import FORMATS

    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    tell_file(write(_handed(folder, run), format, out or folder / "export"))


@app.command()
def predict(
    folder: Node,
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="FILE", help="New samples, as the node's.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the table there; else it is printed."),
    ] = None,
    run: KeptRun = None,
) -> None:
    """On a node: what its own model says of new samples, a CSV with a probability for
    each class.
    """
    from fedkin.cli.export import tell_table
    from fedkin.export.predict import predict as ask

    tell_table(*ask(_handed(folder, run), data), out)


def _handed(folder: Path, run: str | None) -> "Handed":  # type: ignore[name-defined]  # noqa: F821
    from fedkin.cli.export import find_own_code
    from fedkin.flower.node.model import handed

    find_own_code()
    return handed(folder, run)


def _extra() -> None:
    """One sentence where the extra is missing, before anything that needs it is imported."""
    import importlib.util

    if not POSIX:
        raise FedkinError(
            "fedkin deploy needs Linux or macOS, whose processes call each other by sockets that "
            "are files: on Windows, use WSL"
        )
    if importlib.util.find_spec("flwr") is None:
        raise FedkinError("deployments need the extra flower: pip install 'fedkin[flower]'")
