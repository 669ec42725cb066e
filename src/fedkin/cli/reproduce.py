"""``fedkin reproduce``: the papers' tables and figures, measured beside published."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fedkin.cli import claims, completion
from fedkin.cli.options import AsJson, DataDir
from fedkin.cli.talk.json_output import print_json
from fedkin.core.errors import FedkinError, unknown
from fedkin.experiment.terminal import console, say, warn

if TYPE_CHECKING:
    from fedkin.reproduce.finished_rows import Keeping
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
    from fedkin.reproduce.row_spec import check, portable

    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    if list_ or name is None:
        if not list_:
            raise FedkinError("name a preset, or see them with: fedkin reproduce --list")
        if name is not None:
            raise FedkinError(f"--list shows every preset: leave out {name}, or leave out --list")
        _list([preset(each, scale) for each in names()], as_json)
        return
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
    found = preset(name, scale)
    chosen = _named(found, rows)
    changes = _changes(set_ or [], data_dir)
    check(chosen, changes)
    seeds = seeds or 1
    _run(
        Asking(
            found,
            chosen,
            scale,
            seeds,
            out,
            changes,
            finished,
            _command(name, scale, rows, seeds, portable(changes)),
            {} if from_ is None else read(from_),
        ),
        as_json,
    )


class Asking(NamedTuple):
    """What is to be done, for ``rows`` of the preset. ``finished``: to train nothing.
    ``asked``: the command, for the page.
    """

    preset: "Preset"
    rows: "tuple[Row, ...]"
    scale: str
    seeds: int
    out: Path
    changes: dict[str, Any]
    finished: bool
    asked: str
    elsewhere: "Keeping"


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


def _command(
    name: str, scale: str, rows: str | None, seeds: int, changes: Mapping[str, Any]
) -> str:
    """The command that gives the same page."""
    asked = f"fedkin reproduce {name} --scale {scale}"
    if rows:
        asked += f" --rows {shlex.quote(rows)}"
    if seeds > 1:
        asked += f" --seeds {seeds}"
    for key, value in changes.items():
        asked += f" --set {shlex.quote(f'{key}={value}')}"
    return asked


def _run(asking: Asking, as_json: bool) -> None:
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.report import formatting
    from fedkin.reproduce.estimate import estimate, speed, together
    from fedkin.reproduce.pages import cells, flags, lines, write
    from fedkin.reproduce.running import known, outcomes
    from fedkin.runtime.progress import progress_to

    table, changes, here = asking.preset, asking.changes, speed()
    total = together(estimate(row, changes, here, asking.seeds) for row in asking.rows)
    rows, runs = formatting.many(len(asking.rows), "row"), asking.out / "runs"
    warn(f"{table.title}: {rows}, processor time {total} if none is done")
    asking.out.mkdir(parents=True, exist_ok=True)
    for text in flags(table):
        warn(text)
    done = []
    settings = (asking.seeds, runs, changes, here)
    made = (
        (known(row, *settings, asking.elsewhere) for row in asking.rows)  # all seeds that are there
        if asking.finished
        else outcomes(asking.rows, *settings, elsewhere=asking.elsewhere)
    )
    with progress_to(ThrottledLines()):
        for one in made:
            done.append(one)
            for line in lines([one]):
                warn(_told(cells(line), one.missing))
    # the page has all rows, whichever were asked for this time
    now = {one.row.name: one for one in done}
    whole = [
        now.get(row.name) or known(row, asking.seeds, runs, changes, here, asking.elsewhere)
        for row in table.rows
    ]
    written = write(table, whole, asking.scale, asking.asked, asking.out)
    if as_json:
        print_json(
            {
                "name": table.name,
                "title": table.title,
                "scale": asking.scale,
                "flagged": [flag.says for flag in table.flagged],
                "lines": lines(done),
            }
        )
    else:
        for path in written:
            say(path)
    if all(one.missing for one in done):
        raise typer.Exit(1)  # each row has said why


def _told(cells: Sequence[str], missing: str) -> str:
    """A line of the page while it is made. ``missing``: why there is no number; "" where there is
    one.
    """
    row, what, published, measured, difference, seeds, estimated, spent, _ = cells
    if missing:
        return f"{row}: {what}: published {published}, {missing}; estimated {estimated}"
    apart = f", difference {difference}" if difference else ""
    times = f"seeds {seeds}; estimated {estimated}, taken {spent}"
    return f"{row}: {what}: published {published}, measured {measured}{apart} ({times})"


def _changes(settings: list[str], data_dir: Path | None) -> dict[str, Any]:
    from fedkin.runs.spec import literal

    if wrong := [text for text in settings if "=" not in text]:
        raise FedkinError(f"--set {wrong[0]} is not understood: write --set section.key=value")
    changes = {key: literal(value) for key, _, value in (text.partition("=") for text in settings)}
    return changes | ({"data.dir": str(data_dir)} if data_dir is not None else {})


def _list(presets: "list[Preset]", as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from fedkin.reproduce.estimate import estimate, together

    costs = [together(map(estimate, one.rows)) for one in presets]
    plain = [
        {
            "name": one.name,
            "title": one.title,
            "rows": [row.name for row in one.rows],
            "seconds": cost.seconds,
            "estimate_is_rough": cost.rough,
            "about": one.about,
        }
        for one, cost in zip(presets, costs, strict=True)
    ]
    if as_json:
        print_json(plain)
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("name", "what", "rows", "processor time"):
        table.add_column(column, overflow="fold")
    for one, cost in zip(presets, costs, strict=True):
        table.add_row(one.name, one.title, str(len(one.rows)), str(cost))
    console().print(table)
