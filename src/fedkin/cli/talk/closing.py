"""The last lines of ``fedkin run``: what came out, where it lies, what to type next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fedkin.core.errors import FedkinError, many
from fedkin.core.measures import in_columns
from fedkin.experiment.terminal import note, quiet
from fedkin.report import formatting
from fedkin.report.newcomers import newcomers_measure
from fedkin.report.page.report import write_report
from fedkin.report.summary import other_measures, summary
from fedkin.report.words import run_words
from fedkin.runs.database import read_only


def closing(folder: Path, console: Console) -> None:
    """Say the result, then write the report; if that fails, the run itself is finished and safe.

    Args:
        folder: The run directory.
        console: Standard output.
    """
    quoted = shlex.quote(str(folder))
    found = summary(folder)
    for at, text in enumerate([*_results(found), *_newcomers(found["unseen"])]):
        _line(console, "" if at else "result", text)
    _line(
        console,
        "time",
        f"{run_words.progress(found)}, {formatting.seconds(found['seconds']['total'])}",
    )
    _line(console, "run", str(folder))
    _notes(folder, quoted, run_words.remarks(found))
    try:
        _line(console, "report", str(write_report(folder)))
    except (FedkinError, OSError) as error:
        _line(console, "report", f"not written: {error}")
    if not quiet():
        _line(console, "next", f"fedkin show {quoted}   or   fedkin report {quoted}")


def _line(console: Console, name: str, text: str) -> None:
    # never wrapped: paths and commands are there to be copied
    console.print(Text.assemble((f"{name:<8}", "bold"), text), soft_wrap=True)


def _results(result: Mapping[str, Any]) -> list[str]:
    """The final numbers of a summary, one line a view."""
    measure, lines = result["measure"], list[str]()
    for view, picks in result["headline"].items():
        final = picks["final"]
        rest = f" (test, mean of {run_words.in_the_mean(final)})" if not lines else ""
        if final.get("interval"):
            rest += f", 95 % interval {formatting.interval(measure, final['interval'])}"
        mean, worst = (formatting.value(measure, final[key]) for key in ("mean", "worst_decile"))
        decile = "" if final["worst_decile"] is None else f"; worst decile {worst}"
        decile += _few(result) if decile and not lines else ""
        lines.append(f"{view} {formatting.label(measure)} {mean}{rest}{decile}")
    lines += _honest(result) if lines else []
    beside = [
        f"{formatting.BASELINES[name]} {formatting.value(measure, numbers['mean'])}"
        for name, numbers in result["baselines"].items()
    ]
    lines += [f"baselines: {', '.join(beside)}"] if beside and lines else []
    for view, measures in other_measures(result).items():
        shown = [name for name in (*in_columns(), "log_loss") if name in measures]
        cells = ", ".join(
            f"{formatting.label(name)} {formatting.value(name, measures[name]['mean'])}"
            for name in shown
        )
        lines += [f"{view} {cells}"] if cells else []
    return lines or ["nothing was measured"]


def _few(result: Mapping[str, Any]) -> str:
    """On how many test rows the worst decile of the first view rests, where each client of it has
    few.
    """
    worst = result["worst_clients"]
    if not worst or not all(one["few"] for one in worst):
        return ""
    rows = many(sum(one["test"] for one in worst), "test row")
    return f" (on {rows})" if len(worst) == 1 else f" (on {rows} of {len(worst):,} clients)"


def _honest(result: Mapping[str, Any]) -> list[str]:
    """Of a run with attackers: the means over the others."""
    if (honest := result["honest"]) is None:
        return []
    measure = result["measure"]
    shown = ", ".join(
        f"{view} {formatting.label(measure)} {formatting.value(measure, mean)}"
        for view, mean in honest["views"].items()
        if mean is not None
    )
    return [f"honest  {shown} over {honest['clients']} clients; {honest['attackers']} attack"]


def _newcomers(unseen: Mapping[str, Any] | None) -> list[str]:
    """Of a run with held-out clients: how good they are once they joined, by the most samples."""
    if unseen is None:
        return []
    measure, most = newcomers_measure(unseen), unseen["by_labels"][-1]
    mean = formatting.value(measure, most[measure]["mean"])
    who = many(most[measure]["clients"], "held-out client")
    return [f"newcomers {formatting.label(measure)} {mean} (test, mean of {who})"]


def _notes(folder: Path, quoted: str, diverged: list[str]) -> None:
    """What is worth saying: steps that could not be compiled, clients that were left out, or that
    diverged.
    """
    with read_only(folder) as database:
        sentences = [*(database.facts().get("said") or []), *diverged]
        ((left_out,),) = database.rows("SELECT count(*) FROM events WHERE kind = 'missing'")
    if left_out:
        sentences = [
            *sentences,
            f"replies were missing {left_out} times: fedkin show {quoted} says why",
        ]
    for sentence in dict.fromkeys(sentences):
        note(sentence)
