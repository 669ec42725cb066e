"""Exceptions of a method's functions: which one raised, and what the record says of it."""

from collections.abc import Callable, Iterable
from typing import Any

from fedkin.core.errors import exception_text
from fedkin.core.method import Method
from fedkin.core.system.user_code import user_line

NOTE = "fedkin: in "  # begins what is noted of the function that an exception came through


def wrap_functions(
    method: Method, names: Iterable[str], wrap: Callable[[str, Callable[..., Any]], Any]
) -> Method:
    """A method with something around some of its functions.

    Args:
        method: As its author wrote it.
        names: Of the functions; one that the method leaves out stays out.
        wrap: Of a function's name and the function, the one in its place.

    Returns:
        The method; all else of it is as before.
    """
    replaced: dict[str, Any] = {
        name: wrap(name, function)
        for name in names
        if (function := getattr(method, name)) is not None
    }
    return method._replace(**replaced)


def note_function(error: Exception, where: str) -> None:
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
    message = ": ".join(filter(None, [type(error).__name__, exception_text(error)]))
    places = [*filter(None, [user_line(error)]), *_function(error)]
    return f"{message} ({', '.join(places)})" if places else message


def _function(error: Exception) -> list[str]:
    """The function that was noted first, the innermost."""
    notes = getattr(error, "__notes__", [])
    return [f"in {note.removeprefix(NOTE)}" for note in notes if note.startswith(NOTE)][:1]
