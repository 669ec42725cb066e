"""``fedkin reproduce``: the papers' tables and figures, measured beside published."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fedkin.cli_json import print_json
from fedkin.cli_reading import AsJson, DataDir, console
from fedkin.core.errors import FedkinError, unknown


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A preset: see --list.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="The presets, with their rows and rough times.")] = False,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="WORD,…", help="Only rows whose name contains one of these.")
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", help="small: minutes on two cores; full: the paper's setting.")
    ] = "small",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds 0, 1, …; their mean and sd are shown.")] = 1,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="For the pages, and the runs below.")] = Path(
        "reproduction"
    ),
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A change of every run. Repeatable.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """A table or figure of the papers: runs its rows, and writes NAME.md and NAME.html."""
    from fedkin.reproduce.preset import SCALES, names, preset

    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    if list_ or name is None:
        if not list_:
            raise FedkinError("name a preset, or see them with: fedkin reproduce --list")
        _list([preset(each, scale) for each in names()], as_json)
        return
    found = preset(name, scale)
    wanted = rows.split(",") if rows else [""]
    chosen = tuple(row for row in found.rows if any(word.strip() in row.name for word in wanted))
    if not chosen:
        raise FedkinError(f"no row of {name} contains {rows}: they are {', '.join(row.name for row in found.rows)}")
    _run(found._replace(rows=chosen), scale, seeds, out, _changes(set_ or [], data_dir), as_json)


def _run(found: Any, scale: str, seeds: int, out: Path, changes: dict[str, Any], as_json: bool) -> None:
    from fedkin.report import words
    from fedkin.reproduce.pages import cells, lines, write
    from fedkin.reproduce.running import outcomes

    total = sum(row.seconds for row in found.rows) * seeds
    print(f"{found.title}: {words.many(len(found.rows), 'row')}, about {words.seconds(total)}", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    done = []
    for one in outcomes(found.rows, seeds, out / "runs", changes):
        done.append(one)
        for line in lines([one]):
            print(
                "  ".join(cells(line)[:-1]) + (f"  {one.missing}" if one.missing else ""), file=sys.stderr, flush=True
            )
    asked = f"fedkin reproduce {found.name} --scale {scale}" + (f" --seeds {seeds}" if seeds > 1 else "")
    asked += "".join(f" --set {shlex.quote(f'{key}={value}')}" for key, value in changes.items() if key != "data.dir")
    written = write(found, done, scale, asked, out)
    if as_json:
        print_json({"name": found.name, "title": found.title, "scale": scale, "lines": lines(done)})
    else:
        for path in written:
            print(path)


def _changes(settings: list[str], data_dir: Path | None) -> dict[str, Any]:
    from fedkin.runs.spec import literal

    if wrong := [text for text in settings if "=" not in text]:
        raise FedkinError(f"--set {wrong[0]} is not understood: write --set section.key=value")
    found = {key: literal(value) for key, _, value in (text.partition("=") for text in settings)}
    return found | ({"data.dir": str(data_dir)} if data_dir is not None else {})


def _list(found: list[Any], as_json: bool) -> None:
    from rich import box
    from rich.table import Table

    from fedkin.report import words

    plain = [
        {
            "name": one.name,
            "title": one.title,
            "rows": [row.name for row in one.rows],
            "seconds": sum(row.seconds for row in one.rows),
            "about": one.about,
        }
        for one in found
    ]
    if as_json:
        print_json(plain)
        return
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("name", "what", "rows", "about"):
        table.add_column(column, overflow="fold")
    for each in plain:
        table.add_row(each["name"], each["title"], str(len(each["rows"])), words.seconds(each["seconds"]))
    console().print(table)
