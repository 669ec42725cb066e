"""Exceptions of the functions that a method has at a client, with a note of which it was.

Nothing else is raised in their place: what a node may tell of an exception goes by its class.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from fedkin.core.method import Method
from fedkin.core.system.no_exit import no_exit
from fedkin.engine.method_calls.errors import note_function, wrap_functions

# what a client calls once in a piece of its work; ``predict``, which steps are traced with, is none
FUNCTIONS = (
    "client",
    "setup_message",
    "client_update",
    "finalize",
    "personal_models",
    "client_metrics",
)


def with_client_errors(method: Method) -> Method:
    """The same method, whose functions at a client note which of them failed.

    Args:
        method: As its author wrote it.

    Returns:
        The method; what each of FUNCTIONS raises is what it raised before, with a note.
    """
    return wrap_functions(method, FUNCTIONS, partial(_noting, method.name))


def _noting(method: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*arguments: Any) -> Any:
        try:
            with no_exit():
                return function(*arguments)
        except Exception as error:  # an author's function may raise anything
            note_function(error, f"{name} of method {method}")
            raise

    return called
