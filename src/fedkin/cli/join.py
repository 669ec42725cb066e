"""``fedkin join``: a personal model for a client that was not in the run."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fedkin.cli.options import AsJson, Folder, RoundsOfNewcomer, TrustCode
from fedkin.cli.talk.json_output import print_json
from fedkin.experiment.terminal import note, quiet, say


def join(
    folder: Folder,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FILE", help="Samples of the new client: .csv, .parquet or .npz."
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="NAME", help="A client held out by run.holdout_clients."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder; default: DIR/joined/NAME."),
    ] = None,
    rounds: RoundsOfNewcomer = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Architecture of the new client.")
    ] = None,
    trust_code: TrustCode = False,
    as_json: AsJson = False,
) -> None:
    """Train a personal model for a new client.

    No other client takes part; the run is not changed.
    """
    from fedkin.core.system.user_code import find_user_code
    from fedkin.experiment.throttled_lines import ThrottledLines
    from fedkin.newcomers.join import join as work
    from fedkin.runtime.progress import progress_to

    find_user_code()
    with progress_to(ThrottledLines()):
        outcome = work(
            folder, data, client, out=out, rounds=rounds, architecture=model, trust_code=trust_code
        )
    for sentence in outcome["said"]:
        note(sentence)
    print_outcome(outcome, as_json)
    if not (as_json or quiet()):
        options = ["--client", _member(folder, outcome), "--data", "FILE"]
        say(f"next    {shlex.join(['fedkin', 'predict', str(folder), *options])}")


def _member(run: Path, outcome: Mapping[str, Any]) -> str:
    """How other commands name the newcomer: by its name, unless a client of the run has it too."""
    from fedkin.newcomers.join import FOLDER
    from fedkin.report.records import opened

    name, place = str(outcome["client"]), Path(outcome["model"]).parent
    if place == run / FOLDER / name:
        with opened(run) as record:
            if all(one.name != name for one in record.clients.values()):
                return name
    return str(place.relative_to(run) if place.is_relative_to(run) else place)


def print_outcome(outcome: Mapping[str, Any], as_json: bool) -> None:
    """Print what came of a join.

    Args:
        outcome: What ``newcomers.join.join`` gave.
        as_json: As JSON.
    """
    if as_json:
        print_json(outcome)
    else:
        say("\n".join(lines(outcome)))


def lines(outcome: Mapping[str, Any]) -> list[str]:
    """What came of it, for people.

    Args:
        outcome: What ``newcomers.join.join`` gave.

    Returns:
        Lines, without their ends.
    """
    from fedkin.report import formatting

    parts = {"validation": "val", "test": "test"}
    measured = {name: split for name, split in parts.items() if outcome[split]}
    measure = outcome["measure"]
    if all(_score(outcome, split, measure) is None for split in measured.values()):
        measure = "loss"  # one that is always known
    remarks = [
        f"{name} {formatting.label(measure)} "
        f"{formatting.value(measure, _score(outcome, split, measure))}"
        for name, split in measured.items()
    ]
    by = "" if outcome["chosen_by"] == "given" else f", chosen on its {outcome['chosen_by']} data"
    place = "" if outcome["place"] is None else f", place {outcome['place']} of {outcome['places']}"
    notes = "; ".join(
        f"{name.replace('_', ' ')} {formatting.plain(value)}"
        for name, value in outcome["notes"].items()
    )
    sizes = (
        f"{outcome['train']} training, {outcome['val']} validation, {outcome['test']} test samples"
    )
    return [
        f"result  {', '.join(remarks) or 'no validation or test data to measure by'}",
        f"client  {outcome['client']}: {sizes}",
        f"work    {formatting.many(outcome['rounds'], 'round')}{place}{by}, "
        f"{formatting.seconds(outcome['seconds'])}",
        *_other_measures(outcome, measured, measure),
        *([f"notes   {notes}"] if notes else []),
        f"model   {outcome['model']}",
    ]


def _score(outcome: Mapping[str, Any], split: str, measure: str) -> float | None:
    """Of the personal model; None where the split has too few labels for the measure."""
    personal = (outcome[kind].get("personal", {}).get(split, {}) for kind in ("scores", "measures"))
    found: list[float | None] = [scores.get(measure) for scores in personal]
    return next((score for score in found if score is not None), None)


def _other_measures(
    outcome: Mapping[str, Any], measured: Mapping[str, str], headline: str
) -> list[str]:
    """Its other measures on its validation and test data, where there are any, as people write
    them.
    """
    from fedkin.core.measures import is_measure, measure_named
    from fedkin.report import formatting

    every = outcome["measures"].get("personal", {})
    remarks = [
        f"{part} "
        + ", ".join(
            f"{measure_named(name).label} {formatting.decimal(value)}"
            for name, value in every[split].items()
            if is_measure(name) and name != headline
        )
        for part, split in measured.items()
        if set(every.get(split, {})) - {headline}
    ]
    return [f"also    {'; '.join(remarks)}"] if remarks else []
