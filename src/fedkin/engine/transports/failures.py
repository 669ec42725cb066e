"""What went wrong at a host, told to the coordinator as plain values and raised there anew."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError, Halted


class LostWorker(Halted):
    """A worker process or an actor has ended. Its sentence says last that what is committed can be
    resumed.
    """

    def resumed_by(self, command: str) -> "LostWorker":
        """The same, with what resumes the run.

        Args:
            command: Of the shell, or a call of Python.

        Returns:
            Another error, to be raised.
        """
        return LostWorker(f"{self}: {command}")


def error_header(error: FedkinError | OSError) -> dict[str, Any]:
    """An error as a header's values: its sentence, of which kind it is, and where it arose.

    Args:
        error: Of the host: a mistake in the settings, work that could not go on there (a full
            disk), or the system's.

    Returns:
        What ``error_from`` reads.
    """
    kinds = {"halted": isinstance(error, Halted), "system": isinstance(error, OSError)}
    where = {"raised_in": error.raised_in} if isinstance(error, FedkinError) else {}
    return {
        "failed": str(error),
        **where,
        **{kind: True for kind, is_one in kinds.items() if is_one},
    }


def error_from(header: Mapping[str, Any]) -> FedkinError | OSError:
    """The error that a host told.

    Args:
        header: What ``error_header`` made of it.

    Returns:
        Of the same kind and code, to be raised: whoever trains many runs goes on after a mistake of
        one, and stops where this machine cannot go on.
    """
    if header.get("system"):
        return OSError(header["failed"])
    error = Halted(header["failed"]) if header.get("halted") else FedkinError(header["failed"])
    error.raised_in = str(header.get("raised_in", error.raised_in))
    return error
