"""What a command needs before it reaches for anything of a deployment."""

from fedkin.core.errors import FedkinError
from fedkin.core.system.posix import POSIX


def need_extra() -> None:
    """One sentence where the extra is missing, before anything that needs it is imported.

    Raises:
        FedkinError: The extra ``flower`` is not installed, or the system is Windows.
    """
    import importlib.util

    if not POSIX:
        raise FedkinError(
            "fedkin deploy needs Linux or macOS, whose processes call each other by sockets that "
            "are files: on Windows, use WSL"
        )
    if importlib.util.find_spec("flwr") is None:
        raise FedkinError(
            "deployments need the extra flower: in fedkin's checkout, "
            "pip install -c constraints.txt '.[flower]'"
        )
