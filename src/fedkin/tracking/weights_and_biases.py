"""A run's records in Weights & Biases, at its server or in a folder that ``wandb sync`` sends."""

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from fedkin.core.errors import MOST, FedkinError
from fedkin.report.records import opened
from fedkin.tracking.points import name_of, scalars, settings

WAIT = 30.0  # seconds for the server's first answer; its own 90 are long where no server is


def to_wandb(folder: Path, project: str) -> str:
    """A new run of a project at Weights & Biases: settings, metrics by round, the state as a tag.

    Where WANDB_MODE is "offline", it is written into a folder of ./wandb, or of WANDB_DIR, and
    nothing leaves the machine before ``wandb sync``.

    Args:
        folder: A run directory.
        project: Name of the project, which is made where it does not exist.

    Returns:
        The address of the run; of one that is offline, its folder.

    Raises:
        FedkinError: The extra is not installed, the folder is no run, nobody is logged in, or the
            name, the folder or the server is refused.
    """
    if not project.strip() or os.environ.get("WANDB_MODE") == "disabled":
        raise FedkinError(
            f"Weights & Biases keeps nothing of project {project!r} with WANDB_MODE="
            f"{os.environ.get('WANDB_MODE', '')}: name a project, and say online or offline"
        )
    try:
        import wandb
    except ImportError:
        raise FedkinError(
            "tracking with Weights & Biases needs the extra wandb: in fedkin's checkout, "
            "pip install -c constraints.txt '.[wandb]'"
        ) from None
    rounds: dict[int, dict[str, float]] = defaultdict(dict)
    with opened(Path(folder)) as run:
        for name, at, value in scalars(run):
            rounds[at][name] = value
        keys, finished = settings(run), run.finished
    quiet: dict[str, Any] = {"silent": True, "console": "off", "disable_git": True}
    try:
        copy = wandb.init(
            project=project,
            name=name_of(run),
            config=keys,
            tags=["finished" if finished else "unfinished"],
            settings=wandb.Settings(init_timeout=WAIT, **quiet),
        )
        for at in sorted(rounds):  # it refuses to go back to an earlier step
            copy.log(rounds[at], step=at)
        copy.finish(exit_code=0 if finished else 1)
    except wandb.errors.UsageError as error:
        raise FedkinError(f"Weights & Biases, project {project!r}: {_why(error)}") from None
    except (wandb.errors.Error, ValueError, OSError) as error:
        raise FedkinError(
            f"Weights & Biases cannot be used: {_words(error)} (WANDB_MODE=offline writes a "
            "folder that wandb sync sends later)"
        ) from None
    return _place(copy)


def _why(error: Exception) -> str:
    """Its own reason; what to do where nobody is logged in."""
    if "api key" in str(error).lower() or "api_key" in str(error).lower():
        return (
            "nobody is logged in: wandb login, or WANDB_MODE=offline for a folder that wandb sync "
            "sends later"
        )
    return _words(error)


def _words(error: Exception) -> str:
    """What it says, in one line of at most MOST characters."""
    return " ".join(str(error).split())[:MOST].rstrip(".")


def _place(copy: Any) -> str:
    """Where to look: the address, or the folder of an offline run."""
    if copy.offline:
        return str(Path(copy.dir).parent)
    return str(copy.url)
