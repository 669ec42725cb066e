"""Exceptions of the functions that a method has at the server, told in one sentence each."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.system.no_exit import no_exit
from fedkin.engine.method_calls.errors import error_text, wrap_functions

# what the server calls; where a method leaves one out, it is None or does nothing
FUNCTIONS = (
    "server",
    "check",
    "expected_setup",
    "setup_update",
    "broadcast",
    "expected_update",
    "server_update",
    "server_metrics",
    "newcomer_placements",
    "update_newcomer",
)


class FailedAtServer(FedkinError):
    """One of these functions raised or returned what no check foresaw; ``__cause__`` is what it
    raised.
    """

    def in_round(self, number: int) -> "FailedAtServer":
        """The same, with when it was.

        Args:
            number: Of the round, from 1.

        Returns:
            The error, to be raised from ``__cause__``.
        """
        return FailedAtServer(f"round {number}: {self}")


def with_server_errors(method: Method) -> Method:
    """The same method, whose functions at the server tell which of them failed, and in which line.

    Errors of fedkin's own pass as they are: that a message which the server is given cannot be read
    from its disk is among them.

    Args:
        method: As its author wrote it.

    Returns:
        The method; each of FUNCTIONS raises FailedAtServer in place of any other exception.
    """
    return wrap_functions(method, FUNCTIONS, partial(_naming, method.name))


def _naming(method: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*arguments: Any) -> Any:
        try:
            with no_exit():
                return function(*arguments)
        except FedkinError:
            raise
        except MemoryError as error:
            raise FailedAtServer(
                f"method {method}: {name} needs more memory than the server has: "
                f"{error_text(error)}"
            ) from error
        except Exception as error:  # an author's function may raise anything
            raise FailedAtServer(f"method {method}: {name} fails: {error_text(error)}") from error

    return called
