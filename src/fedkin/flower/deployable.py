"""What an experiment may not ask of nodes."""

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from fedkin.setup.sample_privacy import check_multiplier
from fedkin.transforms.registry import check_deployable as check_transforms


def check_deployable(spec: Spec) -> None:
    """Raise FedkinError for what only a simulation does."""
    check_transforms([one.name for one in spec.transforms])
    check_multiplier(spec)
    check_device(spec)
    if spec.audit.canaries:
        raise FedkinError("audit.canaries is for simulations (fedkin run): nodes change no labels")


def check_device(spec: Spec) -> None:
    """Raise FedkinError for another device than a node computes on."""
    if spec.engine.device != "cpu":
        raise FedkinError(
            "engine.device is for simulations, nodes compute on their CPU: leave it out"
        )
