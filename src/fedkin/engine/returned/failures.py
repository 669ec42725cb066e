"""What the record says of an exception in a client's work, whose traceback ends at its host."""

from fedkin.core.system.own_code import own_line

NOTE = "fedkin: in "  # begins what is noted of the function that an exception came through


def noted(error: Exception, where: str) -> None:
    """Have an exception tell in which function it was raised.

    Args:
        error: Whose lines, where they are printed, end with it too.
        where: The function, and whose it is.
    """
    error.add_note(f"{NOTE}{where}")


def error_text(error: Exception) -> str:
    """What the record says of an exception that no check foresaw.

    Args:
        error: Of a client's work.

    Returns:
        Its class and its text; of one that went through a method's own file, its line in there; of
        one that was noted, the function.
    """
    told = f"{type(error).__name__}: {error}"
    places = [*filter(None, [own_line(error)]), *_function(error)]
    return f"{told} ({', '.join(places)})" if places else told


def _function(error: Exception) -> list[str]:
    """The function that was noted first, the innermost."""
    notes = getattr(error, "__notes__", [])
    return [f"in {note.removeprefix(NOTE)}" for note in notes if note.startswith(NOTE)][:1]
