"""fedkin: personalized federated learning. ``from fedkin import Experiment, run``."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Experiment", "FedkinError", "Method", "Result", "resume", "run"]

if TYPE_CHECKING:  # what a type checker reads
    from fedkin.api import Experiment as Experiment
    from fedkin.api import Result as Result
    from fedkin.api import resume as resume
    from fedkin.api import run as run
    from fedkin.core.errors import FedkinError as FedkinError
    from fedkin.core.method import Method as Method
else:

    def __getattr__(name: str) -> Any:
        # looked up when asked for, so that `fedkin --help` and worker processes do not load what
        # they do not use
        if name in ("Experiment", "Result", "resume", "run"):
            import fedkin.api

            return getattr(fedkin.api, name)
        if name == "FedkinError":
            from fedkin.core.errors import FedkinError

            return FedkinError
        if name == "Method":
            from fedkin.core.method import Method

            return Method
        raise AttributeError(f"module 'fedkin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
