"""Commands that are printed to be typed: what stands in them is quoted for a shell."""

import shlex
from pathlib import Path


def deploy(verb: str, folder: Path | str, *words: str) -> str:
    """``fedkin deploy VERB FOLDER …``.

    Args:
        verb: run, join, add, …
        folder: Of the deployment, or of a node.
        words: What follows it.

    Returns:
        A line for a shell.
    """
    return shlex.join(["fedkin", "deploy", verb, str(folder), *words])


def flwr(home: Path, *words: str) -> str:
    """``flwr …`` for the SuperLink of a deployment.

    Args:
        home: Its FLWR_HOME.
        words: What follows ``flwr``.

    Returns:
        A line for a shell.
    """
    return f"FLWR_HOME={shlex.quote(str(home))} {shlex.join(['flwr', *words])}"


def of_shell(program: Path | str, *words: Path | str) -> str:
    """Any other program.

    Args:
        program: Its name or place.
        words: What follows it.

    Returns:
        A line for a shell.
    """
    return shlex.join(map(str, (program, *words)))
