"""Word from a terminal that a run or a join is to end, left in a file, and what to type then."""

from pathlib import Path

from fedkin.experiment.training import Interrupted
from fedkin.flower.commands import deploy
from fedkin.runs.directory import has_begun


class StoppedByTerminal(Interrupted):
    """What was being done when a terminal wanted it to end."""


def stop_if_asked(stop: Path | None, sentence: str) -> None:
    """End what is being done where somebody wants it to.

    Args:
        stop: The file that says so; it is taken away. None: nobody can.
        sentence: What was being done, without what to type next.

    Raises:
        StoppedByTerminal: It is there.
    """
    if stop is not None and stop.exists():
        stop.unlink()
        raise StoppedByTerminal(sentence)


def run_again(folder: Path | str, out: Path) -> str:
    """What to type after a run was stopped.

    Args:
        folder: The deployment's.
        out: The run directory, of which there may be nothing yet.

    Returns:
        A clause with the command: there is nothing to resume where no round was committed.
    """
    if has_begun(out):
        return f"continue with: {deploy('run', folder, '--resume')}"
    return f"begin again: {deploy('run', folder)}"


def join_again(folder: Path | str, out: Path, name: str, rounds: str) -> str:
    """What to type after a join was stopped.

    Args:
        folder: The deployment's.
        out: Directory of the run that is joined.
        name: The newcomer's.
        rounds: Local rounds that were asked for; "": none were.

    Returns:
        A clause with the command.
    """
    asked = ("--rounds", rounds) if rounds else ()
    command = deploy("join", folder, name, "--run", out.name, *asked)
    return f"{name} has not joined; ask again: {command}"
