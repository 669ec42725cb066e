"""``fedkin bench``: the leaderboard."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedkin.cli.json_output import print_json
from fedkin.cli.reading import AsJson, DataDir, as_given
from fedkin.core.errors import FedkinError
from fedkin.experiment.terminal import console, say, warn

if TYPE_CHECKING:
    from fedkin.bench.row import Row
    from fedkin.bench.suite import Content

app = typer.Typer(
    name="bench",
    help="The leaderboard: equal budgets for every method, rows that anybody can rerun.",
    no_args_is_help=True,
)
Suite = Annotated[
    str, typer.Argument(metavar="SUITE", help="small, standard, full, or your own.toml.")
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Rows, and runs while they last; goes on.")
]
Settings = Annotated[
    str | None,
    typer.Option("--settings", metavar="NAME,…", help="Only these federations of the suite."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Processes; one a core if not given."),
]
KeepRuns = Annotated[
    bool, typer.Option("--keep-runs", help="Leave the run directories of finished rows.")
]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """The suites that fedkin brings."""
    from fedkin.bench.suite import names, suite

    found = {name: suite(name) for name in names()}
    if as_json:
        print_json({name: one.model_dump(mode="json") for name, one in found.items()})
        return
    for name, one in found.items():
        size = f"{len(one.all_methods)} methods, {one.trials} trials, {len(one.seeds)} seeds"
        say(f"{name}: {size}. {one.about}")
        for label, setting in one.settings.items():
            say(f"  {label}: {setting.title}, {setting.rounds} rounds")


@app.command("run")
def run_(
    suite: Suite = "small",
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAME,…", help="Only these, beside local and fedavg."),
    ] = None,
    settings: Settings = None,
    out: Out = Path("bench"),
    workers: Workers = None,
    keep_runs: KeepRuns = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run a suite: every method's search, then its rows. The same command goes on."""
    _run(suite, _names(methods), settings, out, workers, keep_runs, data_dir, as_json)


def _run(
    suite: str,
    methods: tuple[str, ...],
    settings: str | None,
    out: Path,
    workers: int | None,
    keep_runs: bool,
    data_dir: Path | None,
    as_json: bool,
    own: "tuple[Content, ...]" = (),
) -> None:
    from fedkin.bench.running import ROWS, Asked, bench
    from fedkin.bench.suite import suite as found

    asked = Asked(
        Path(suite).stem,
        found(suite),
        out,
        workers or os.cpu_count() or 1,
        as_given(data_dir),
        methods,
        _names(settings),
        own,
        keep_runs,
    )
    rows = bench(asked, warn)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        _show(rows)
        say(out / ROWS)


def _show(rows: "list[Row]") -> None:
    from rich import box
    from rich.table import Table

    from fedkin.report import formatting

    table = Table(box=box.SIMPLE_HEAD)
    for column in ("setting", "method", "seed", "rounds", "budgets", "test", "hurt", "sent"):
        table.add_column(column, overflow="fold")
    for row in rows:
        told = row.missing or formatting.value(row.measure, row.mean)
        hurt = formatting.percent(row.hurt)
        cells = [row.setting, row.method, str(row.seed), str(row.rounds), ", ".join(row.budgets)]
        table.add_row(*cells, told, hurt, formatting.size(row.bytes))
    console().print(table)


def _names(told: str | None) -> tuple[str, ...]:
    """A list with commas; empty where nothing was asked for."""
    if told is None:
        return ()
    found = tuple(word.strip() for word in told.split(",") if word.strip())
    if not found:
        raise FedkinError(f"{told!r} names nothing: write names with commas between them")
    return found
