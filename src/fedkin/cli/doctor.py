"""``fedkin doctor``: an experiment looked at before it is run."""

from typing import Annotated, Any

import typer

from fedkin.cli.json_output import print_json
from fedkin.cli.reading import AsJson, Changes, DataDir, SpecFile, TrustCode, as_given
from fedkin.cli.terminal import console, tell_hints

BASELINES = ("local", "fedavg", "finetune")  # what is always probed


def doctor(
    spec: SpecFile = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="NAME", help="As in fedkin run: a table, a name."),
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", metavar="NAME", help="As in fedkin run.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="As in fedkin run.")
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=0, help="Rounds of a probe; 0: none is run.")
    ] = 3,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods", metavar="NAME,…", help="More methods to probe, with their defaults."
        ),
    ] = None,
    set_: Changes = None,
    data_dir: DataDir = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Before spending a day: how unlike the clients are, what goes wrong by default, what it costs,
    and whether federating is likely to help, by short probes on validation data.
    """
    from fedkin.cli.export import find_own_code
    from fedkin.cli.options import specification
    from fedkin.doctor.data import data_of
    from fedkin.doctor.probe import probe, verdict
    from fedkin.doctor.traps import traps_of
    from fedkin.methods import known_name
    from fedkin.runs.spec import MethodSection
    from fedkin.setup.build import assemble

    more = [known_name(name.strip()) for name in methods.split(",")] if methods else []
    options = {"data": data, "method": method, "split": split, "data_dir": as_given(data_dir)}
    given, hints = specification(spec, options, set_ or [], trust_code)
    tell_hints(hints)
    find_own_code()
    parts = assemble(given)
    whole = (
        parts.spec
    )  # with the public set that its method needs: every probe has the same clients' data
    wanted = {
        whole.method.name: whole.method
    }  # as the experiment has it, also where it is one of the baselines
    for name in (*BASELINES, *more):
        wanted.setdefault(name, MethodSection(name=name))
    probes = (
        [probe(whole, method, min(rounds, whole.run.rounds)) for method in wanted.values()]
        if rounds
        else []
    )
    found = {
        "data": data_of(parts.population, whole.run.seed),
        "traps": traps_of(parts),
        "probes": [
            {**one._asdict(), "mean": one.mean, "validation": dict(one.validation)}
            for one in probes
        ],
        "verdict": verdict(probes),
        "rounds": rounds,
        "of": whole.run.rounds,
    }
    if as_json:
        print_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from fedkin.report import formatting

    out = console()
    for line in _data_lines(found["data"]):
        out.print(line, highlight=False, markup=False)
    out.print("\nTraps" if found["traps"] else "\nNo trap that is known", style="bold")
    for trap in found["traps"]:
        out.print(f"! {trap}", style="yellow", highlight=False, markup=False)
    if not found["probes"]:
        return
    title = (
        f"\nThe whole experiment ({found['of']} rounds), estimated from probes of "
        f"{found['rounds']} rounds"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in ("method", "time", "sent", "states", "validation accuracy after the probe"):
        table.add_column(column, overflow="fold")
    for one in found["probes"]:
        if one["failed"]:
            table.add_row(one["method"], "", "", "", Text(f"cannot run: {one['failed']}"))
            continue
        cost = [
            formatting.seconds(one["seconds"]),
            formatting.size(one["bytes"]),
            formatting.size(one["memory"]),
        ]
        table.add_row(one["method"], *cost, formatting.percent(one["mean"]))
    out.print(table)
    told = found["verdict"]
    if told is not None:
        gain = f"{100 * told['difference']:+.1f} ± {100 * told['error']:.1f} points"
        share = formatting.percent(told["better"])
        out.print(
            f"{told['against']} against local: {gain}, better for {share} of the clients.",
            highlight=False,
        )
        out.print(f"{told['says'][0].upper()}{told['says'][1:]}.", style="bold")


def _data_lines(data: dict[str, Any]) -> list[str]:
    sizes = data["samples"]
    span = f"{sizes['least']} to {sizes['most']} training samples, median {sizes['median']:.0f}"
    lines = [
        f"{data['clients']} clients with {span}",
        "smallest: "
        + ", ".join(
            f"{one['client']} ({one['train']} train, {one['val']} val)" for one in data["smallest"]
        ),
    ]
    if data["labels"] is not None:
        told = data["labels"]
        lines.append(
            f"labels:   {told['distance']:.2f} from those of all (total variation, 0 to 1; "
            f"{told['chance']:.2f} by "
            f"chance); a client has {told['classes']:.0f} classes (median)"
        )
    if data["features"] is not None:
        told = data["features"]
        lines.append(
            f"features: {100 * told['between']:.1f} % of their variance within a class lies "
            "between clients "
            f"({100 * told['chance']:.1f} % by chance)"
        )
    return lines
