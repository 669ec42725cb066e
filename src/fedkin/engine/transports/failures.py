"""What went wrong at a host, told to the coordinator as plain values and raised there anew."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError, Halted


def error_header(error: FedkinError | OSError) -> dict[str, Any]:
    """An error as a header's values: its sentence, and of which kind it is.

    Args:
        error: Of the host: a mistake in the settings, work that could not go on there (a full
            disk), or the system's.

    Returns:
        What ``error_from`` reads.
    """
    kinds = {"halted": isinstance(error, Halted), "system": isinstance(error, OSError)}
    return {"failed": str(error), **{name: True for name, is_one in kinds.items() if is_one}}


def error_from(header: Mapping[str, Any]) -> FedkinError | OSError:
    """The error that a host told.

    Args:
        header: What ``error_header`` made of it.

    Returns:
        Of the same kind, to be raised: whoever trains many runs goes on after a mistake of one,
        and stops where this machine cannot go on.
    """
    if header.get("system"):
        return OSError(header["failed"])
    return Halted(header["failed"]) if header.get("halted") else FedkinError(header["failed"])
