"""A run directory: what its files are called, and what they say of how far it came."""

from pathlib import Path

SPEC, RECORD, LOCK = "experiment.toml", "run.db", "run.lock"


def states_of(run: Path) -> Path:
    """The folder of its states."""
    return run / "checkpoint"


def begun(run: Path) -> bool:
    """Whether a run began in this folder, so that it is resumed: one that was killed early has no
    record yet.
    """
    return recorded(run) or (run / SPEC).is_file()


def recorded(run: Path) -> bool:
    """Whether there is a record of what happened."""
    return (run / RECORD).is_file()


def unrecorded(run: Path) -> bool:
    """Whether a run was killed before its record was there: it begins anew."""
    return begun(run) and not recorded(run)


def leftover(path: Path) -> bool:
    """What a run leaves in its folder that was killed before its first file."""
    return path.name == LOCK or path.suffix == ".part"
