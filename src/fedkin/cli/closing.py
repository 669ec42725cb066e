"""The last lines of ``fedkin run``: what came out, where it lies, what to type next."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fedkin.cli.terminal import warn
from fedkin.core.errors import FedkinError
from fedkin.report import formatting
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.database import read_only


def closing(folder: Path, console: Console) -> None:
    """Say the result, then write the report; if that fails, the run itself is finished and safe."""
    quoted = shlex.quote(str(folder))
    found = summary(folder)
    for name, text in zip(["result", *[""] * 2 * len(found["loss"])], _results(found)):
        _line(console, name, text)
    _line(
        console,
        "time",
        f"{formatting.progress(found)}, {formatting.seconds(found['seconds']['total'])}",
    )
    _line(console, "run", str(folder))
    _notes(folder, quoted, formatting.diverged(found))
    try:
        _line(console, "report", str(write_report(folder)))
    except (FedkinError, OSError) as error:
        _line(console, "report", f"not written: {error}")
    _line(console, "next", f"fedkin show {quoted}   or   fedkin report {quoted}")


def _line(console: Console, name: str, text: str) -> None:
    # never wrapped: paths and commands are there to be copied
    console.print(Text.assemble((f"{name:<8}", "bold"), text), soft_wrap=True)


def _results(found: Mapping[str, Any]) -> list[str]:
    """The final numbers of a summary, one line a view."""
    measure, form = (
        ("accuracy", formatting.percent) if found["accuracy"] else ("loss", formatting.decimal)
    )
    lines: list[str] = []
    for view, picks in found[measure].items():
        final = picks["final"]
        rest = f" (test, mean of {final['clients']} clients)" if not lines else ""
        lines.append(
            f"{view} {measure} {form(final['mean'])}, worst decile "
            f"{form(final['worst_decile'])}{rest}"
        )
    for view, measures in found["measures"].items():
        told = ", ".join(
            f"{name.upper()} {formatting.decimal(numbers['mean'])}"
            for name, numbers in measures.items()
        )
        lines += [f"{view} {told}"] if told else []
    return lines or ["nothing was measured"]


def _notes(folder: Path, quoted: str, diverged: list[str]) -> None:
    """What is worth saying: steps that could not be compiled, clients that were left out, or that
    diverged.
    """
    with read_only(folder) as database:
        said = [*(database.facts().get("said") or []), *diverged]
        ((left_out,),) = database.rows("SELECT count(*) FROM events WHERE kind = 'missing'")
    if left_out:
        said = [*said, f"replies were missing {left_out} times: fedkin show {quoted} says why"]
    for sentence in dict.fromkeys(said):
        warn(f"note: {sentence}")
