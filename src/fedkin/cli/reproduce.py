"""``fedkin reproduce``: the papers' tables and figures, measured beside published."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fedkin.cli import claims, completion
from fedkin.cli.options import AsJson, DataDir
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError, unknown
from fedkin.experiment.terminal import console, print_notice, say

if TYPE_CHECKING:
    from fedkin.reproduce.finished_rows import FinishedRuns
    from fedkin.reproduce.outcome import Outcome
    from fedkin.reproduce.preset import Preset, Row

MOST_SEEDS = 1000


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Preset (see --list), or claims.",
            show_default=False,
            autocompletion=completion.preset_names,
        ),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]", help="Paper whose claims are tested.", show_default=False
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List presets with rows and processor time.")
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows",
            metavar="WORD,…",
            help="Only rows whose name contains one of these; of claims: or those of a claim.",
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", help="small: minutes on two cores; full: the paper's setting.")
    ] = "small",
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=MOST_SEEDS,
            help="Number of seeds; default: 1, of claims 3.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Output folder for pages and runs.")
    ] = Path("reproduction"),
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key in every run. Repeatable."),
    ] = None,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished",
            help="Only show finished rows and the cost of the rest.",
        ),
    ] = False,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Reuse finished rows from CSV files of other machines; of claims: their verdicts.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Of claims: only print the cost of the runs."),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a table, a figure or the claims of a paper.

    Runs its rows and writes NAME.md, NAME.html and NAME.csv.
    """
    from fedkin.reproduce.finished_rows import read
    from fedkin.reproduce.preset import SCALES, names, preset
    from fedkin.reproduce.row_spec import check

    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    if list_ and name is not None:
        raise FedkinError(f"--list shows every preset: leave out {name}, or leave out --list")
    if list_:
        _list([preset(each, scale) for each in names()], as_json)
        return
    if name is None:
        raise FedkinError("name a preset, or see them with: fedkin reproduce --list")
    if name == claims.NAME:
        from fedkin.reproduce.claim_verdict import SEEDS  # late: it loads what only claims need

        changes = _changes(set_ or [], data_dir)
        claims.judge(
            claims.ClaimOptions(
                paper, scale, seeds or SEEDS, rows, out, changes, finished, dry_run, as_json, from_
            )
        )
        return
    if paper is not None or dry_run:
        raise FedkinError(
            f"{paper or '--dry-run'} is for fedkin reproduce claims, not for the preset {name}"
        )
    if name not in names():
        raise unknown("preset", name, [*names(), claims.NAME])
    table = preset(name, scale)
    chosen = _named(table, rows)
    changes = _changes(set_ or [], data_dir)
    check(chosen, changes)
    elsewhere = {} if from_ is None else read(from_)
    request = PresetRequest(
        table, chosen, scale, seeds or 1, out, changes, finished, rows, elsewhere
    )
    _run(request, as_json)


class PresetRequest(NamedTuple):
    """What is to be run: ``rows`` of the preset. ``finished``: train nothing. ``words``: of
    ``--rows``. ``elsewhere``: finished runs of other machines.
    """

    preset: "Preset"
    rows: "tuple[Row, ...]"
    scale: str
    seeds: int
    out: Path
    changes: dict[str, Any]
    finished: bool
    words: str | None
    elsewhere: "FinishedRuns"


def _named(chosen_preset: "Preset", words: str | None) -> "tuple[Row, ...]":
    """The rows that --rows asks for."""
    from fedkin.reproduce.preset import contains

    chosen = tuple(row for row in chosen_preset.rows if contains(row, words))
    if not chosen:
        raise FedkinError(
            f"no row of {chosen_preset.name} contains {words}: they are "
            f"{', '.join(row.name for row in chosen_preset.rows)}"
        )
    return chosen


def _command(request: PresetRequest, all_rows: "Sequence[Outcome]") -> str:
    """The command that gives the same page: of all rows that it has, also those of calls before."""
    from fedkin.reproduce.row_spec import portable

    command = f"fedkin reproduce {request.preset.name} --scale {request.scale}"
    asked = {row.name for row in request.rows}
    shown = [one.row.name for one in all_rows if one.row.name in asked or not one.missing]
    if len(shown) < len(all_rows):
        words = request.words if len(shown) == len(asked) else None
        command += f" --rows {shlex.quote(words or ','.join(shown))}"
    if request.seeds > 1:
        command += f" --seeds {request.seeds}"
    for key, value in portable(request.changes).items():
        command += f" --set {shlex.quote(f'{key}={value}')}"
    return command


def _run(request: PresetRequest, as_json: bool) -> None:
    from fedkin.reproduce.estimate import speed
    from fedkin.reproduce.finished_rows import kept
    from fedkin.reproduce.pages import flags, lines, write
    from fedkin.runs.output_files import make_folder

    table, machine_speed = request.preset, speed()
    kept(request.out / f"{table.name}.csv")  # a damaged file is told before hours of training
    make_folder(request.out)
    _tell_cost(request, machine_speed)
    for text in flags(table):
        print_notice(text)
    done = _outcomes(request, machine_speed)
    # the page has all rows, whichever were asked for this time
    asked_for = {outcome.row.name: outcome for outcome in done}
    all_rows = [
        asked_for.get(row.name) or _known(request, row, machine_speed) for row in table.rows
    ]
    written = write(table, all_rows, request.scale, _command(request, all_rows), request.out)
    if as_json:
        print_json(
            {
                "name": table.name,
                "title": table.title,
                "scale": request.scale,
                "flagged": [flag.says for flag in table.flagged],
                "lines": lines(done),
            }
        )
    else:
        for path in written:
            say(path)
    if all(outcome.missing for outcome in done):
        raise typer.Exit(1)  # each row has said why


def _tell_cost(request: PresetRequest, machine_speed: float) -> None:
    from fedkin.report import formatting
    from fedkin.reproduce.estimate import estimate, total_of

    total = total_of(
        estimate(row, request.changes, machine_speed, request.seeds) for row in request.rows
    )
    rows = formatting.many(len(request.rows), "row")
    print_notice(f"{request.preset.title}: {rows}, processor time {total} if none is done")


def _outcomes(request: PresetRequest, machine_speed: float) -> "list[Outcome]":
    """What came of the rows that were asked for, each told when it is there."""
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.reproduce.pages import cells, lines
    from fedkin.reproduce.running import outcomes
    from fedkin.runtime.progress import progress_to

    runs = request.out / "runs"
    settings = (request.seeds, runs, request.changes, machine_speed)
    coming = (
        (_known(request, row, machine_speed) for row in request.rows)
        if request.finished
        else outcomes(request.rows, *settings, elsewhere=request.elsewhere)
    )
    done = []
    with progress_to(ThrottledLines()):
        for outcome in coming:
            done.append(outcome)
            for line in lines([outcome]):
                print_notice(_progress_line(cells(line), outcome.missing))
    return done


def _known(request: PresetRequest, row: "Row", machine_speed: float) -> "Outcome":
    """A row with all its seeds that are finished; trains nothing."""
    from fedkin.reproduce.running import known

    runs = request.out / "runs"
    return known(row, request.seeds, runs, request.changes, machine_speed, request.elsewhere)


def _progress_line(cells: Sequence[str], missing: str) -> str:
    """A line of the page while it is made. ``missing``: why there is no number; "" where there is
    one.
    """
    row, measure, published, measured, difference, seeds, estimated, spent, _ = cells
    if missing:
        return f"{row}: {measure}: published {published}, {missing}; estimated {estimated}"
    off = f", difference {difference}" if difference else ""
    times = f"seeds {seeds}; estimated {estimated}, taken {spent}"
    return f"{row}: {measure}: published {published}, measured {measured}{off} ({times})"


def _changes(settings: list[str], data_dir: Path | None) -> dict[str, Any]:
    from fedkin.setup.arguments.given_once import check_given_once
    from fedkin.setup.arguments.options import setting

    typed = [(f"--set {text}", dict([setting(text)])) for text in settings]
    if data_dir is not None:
        typed.append((f"--data-dir {data_dir}", {"data.dir": str(data_dir)}))
    check_given_once(typed)
    return {key: value for _, change in typed for key, value in change.items()}


def _list(presets: "list[Preset]", as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from fedkin.reproduce.estimate import estimate, total_of

    costs = [total_of(map(estimate, preset.rows)) for preset in presets]
    plain = [
        {
            "name": preset.name,
            "title": preset.title,
            "rows": [row.name for row in preset.rows],
            "seconds": cost.seconds,
            "estimate_is_rough": cost.rough,
            "about": preset.about,
        }
        for preset, cost in zip(presets, costs, strict=True)
    ]
    if as_json:
        print_json(plain)
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("name", "what", "rows", "processor time"):
        table.add_column(column, overflow="fold")
    for preset, cost in zip(presets, costs, strict=True):
        table.add_row(preset.name, preset.title, str(len(preset.rows)), str(cost))
    console().print(table)
