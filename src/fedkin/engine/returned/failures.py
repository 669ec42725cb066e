"""What the record says of an exception in a client's work, whose traceback ends at its host."""

from pathlib import Path
from traceback import extract_tb

PACKAGE = str(Path(__file__).parents[2])  # fedkin's own files
BOUGHT = ("site-packages", "dist-packages")  # folders of what others wrote


def error_text(error: Exception) -> str:
    """What the record says of an exception that no check foresaw.

    Args:
        error: Of a client's work.

    Returns:
        Its class and its text; of one that went through a method's own file, its line in there.
    """
    return f"{type(error).__name__}: {error}{_place(error)}"


def _place(error: Exception) -> str:
    """Where the method's author finds it: the last line outside of fedkin and of libraries."""
    lines = [
        (frame.filename, frame.lineno)
        for frame in extract_tb(error.__traceback__)
        if not frame.filename.startswith((PACKAGE, "<"))
    ]
    own = [one for one in lines if not set(BOUGHT) & set(Path(one[0]).parts)] or lines[:1]
    return f" ({Path(own[-1][0]).name}, line {own[-1][1]})" if own else ""
