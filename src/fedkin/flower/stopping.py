"""Word from a terminal that a run or a join is to end, left in a file."""

from pathlib import Path

from fedkin.experiment.training import Interrupted


def heed(stop: Path | None, sentence: str) -> None:
    """End what is being done where somebody wants it to.

    Args:
        stop: The file that says so; it is taken away. None: nobody can.
        sentence: What to say then.

    Raises:
        Interrupted: It is there.
    """
    if stop is not None and stop.exists():
        stop.unlink()
        raise Interrupted(sentence)
