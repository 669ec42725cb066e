"""``fedkin sweep``: hyper-parameters searched, by validation data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedkin.cli import completion
from fedkin.cli.options import (
    AsJson,
    Changes,
    ClientsAsInRun,
    DataAsInRun,
    DataDir,
    MethodAsInRun,
    SpecFile,
    SplitAsInRun,
    TrustCode,
    path_as_text,
)
from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import console, print_notice, say, tell_hints

if TYPE_CHECKING:
    from fedkin.sweep.score import Score
    from fedkin.sweep.study import Claim

BY_SCORES = "the choice by validation scores, which have no noise, is outside of it"


def sweep(
    spec: SpecFile = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="KEY=…",
            help="'train.lr=0.01, 0.1', 'train.lr=log 0.001 .. 0.3', or a preset.",
        ),
    ] = None,
    sampler: Annotated[str, typer.Option("--sampler", help="grid or tpe.")] = "grid",
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, help="Number of trials; a grid runs completely."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Study folder; an interrupted study continues."),
    ] = Path("sweep"),
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="Metric; default: chosen from the data.",
            autocompletion=completion.measure_names,
        ),
    ] = None,
    data: DataAsInRun = None,
    method: MethodAsInRun = None,
    split: SplitAsInRun = None,
    clients: ClientsAsInRun = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="As in fedkin run.",
            autocompletion=completion.model_names,
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="Rounds of every trial.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="As in fedkin run.")] = None,
    set_: Changes = None,
    data_dir: DataDir = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Search hyper-parameters (extra sweep).

    Start it several times with the same --out to work in parallel.
    """
    from fedkin.core.system.user_code import find_user_code
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.experiment.training import Interrupted
    from fedkin.report.privacy_costs import costs_in_words
    from fedkin.runtime.progress import progress_to
    from fedkin.setup.arguments.options import specification
    from fedkin.sweep import costs_of_trials, dropped, instead, outcome, space_of
    from fedkin.sweep import sweep as search

    find_user_code()
    named = {"data": data, "method": method, "split": split, "model": model, "measure": measure}
    options = {
        **named,
        "clients": clients,
        "rounds": rounds,
        "seed": seed,
        "data_dir": path_as_text(data_dir),
    }
    base, hints = specification(spec, options, set_ or [], trust_code, "sweep")
    searched = space_of(space or [])
    tell_hints([*hints, *instead(space or []), *dropped(base, searched)])
    with progress_to(ThrottledLines()):
        try:
            study = search(base, searched, out, trials, sampler, _tell)
        except Interrupted:  # which names the run of a trial, not the search
            raise Interrupted(
                "stopped: the same command goes on with this trial, and with the search"
            ) from None
    costs = costs_of_trials(study, out)
    found = outcome(study, out, costs)
    if as_json:
        print_json(found)
        return
    _show(found["trials"], found["lost"], found["running"])
    for edge in found["edges"]:
        beyond = "larger" if edge["end"] == "largest" else "smaller"
        say(f"{edge['key']} = {edge['value']} is the {edge['end']} of its list: try {beyond} ones")
    if costs:
        say(f"privacy: {costs_in_words(costs)}; {BY_SCORES}")


def _tell(claim: "Claim", total: int, score: "Score | str | None") -> None:
    """A line when a trial begins and one when it is done, on stderr: the table is the result."""
    from fedkin.report import formatting

    if score is None:
        outcome = formatting.plain(claim.values)
    elif isinstance(score, str):
        outcome = f"no value: {score}"
    else:
        outcome = f"validation {formatting.label(score.measure)} {formatting.decimal(score.value)}"
    print_notice(f"trial {claim.number + 1} of {total}  {outcome}")


def _show(trials: list[dict[str, Any]], lost: list[dict[str, Any]], running: int) -> None:
    from rich import box
    from rich.table import Table

    from fedkin.report import formatting
    from fedkin.report.comparison.sheet import TIES

    table = Table(
        title="By validation, best first; no test score is used",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    scores = ("validation", "measure", "rank", "tie", "rounds", "unscored")
    searched = [key for key in trials[0] if key not in scores]
    if len({row.get("rounds") for row in trials}) > 1:  # a budget, or patience, ended some before
        searched.insert(-1, "rounds")
    for column in ("rank", f"validation {formatting.label(trials[0]['measure'])}", *searched):
        table.add_column(column, overflow="fold")
    for row in trials:
        place = formatting.rank(row["rank"], row["tie"])
        values = (str(row.get(key, formatting.NONE)) for key in searched)
        table.add_row(place, formatting.decimal(row["validation"]), *values)
    table.caption = TIES
    console().print(table)
    for row in trials:
        if row.get("unscored"):
            say(f"{Path(row['run']).name}: {row['unscored']}")
    for row in lost:
        say(f"{Path(row['run']).name} has no value: {row['lost']}")
    if running:
        say(
            f"{formatting.many(running, 'trial')} not done yet: another process works on it, "
            "or run it again"
        )
