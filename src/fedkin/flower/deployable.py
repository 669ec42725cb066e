"""What an experiment may not ask of nodes."""

from fedkin.core.errors import FedkinError
from fedkin.core.measures import MEASURES
from fedkin.core.method import Method
from fedkin.core.system.user_code import is_user_code
from fedkin.runs.spec import Spec
from fedkin.setup.sample_privacy import check_multiplier
from fedkin.transforms.registry import check_deployable as check_transforms


def check_deployable(spec: Spec) -> None:
    """Refuse what only a simulation does.

    Args:
        spec: The experiment.

    Raises:
        FedkinError: Its transforms, noise, device, measure or canaries are not for nodes.
    """
    check_transforms([one.name for one in spec.transforms])
    check_multiplier(spec)
    check_device(spec)
    if is_user_code(spec.run.measure):
        raise FedkinError(
            f"run.measure = {spec.run.measure!r} is for simulations (fedkin run): nodes send "
            f"fedkin's own measures, {', '.join(MEASURES)}"
        )
    if spec.audit.canaries:
        raise FedkinError("audit.canaries is for simulations (fedkin run): nodes change no labels")


def unused(spec: Spec) -> str | None:
    """A note on settings of [data] that nodes with files of their own do not use.

    Args:
        spec: The experiment, as its file has it.

    Returns:
        A sentence; None where there are none.
    """
    keys = [*spec.data.options, *(["client"] if spec.data.client else [])]
    if not keys:
        return None
    named = ", ".join(f"data.{key}" for key in sorted(keys))
    return (
        f"nodes do not use {named}: a node's file is UTF-8 with commas, and is taken as it is "
        "(docs/deploy.md)"
    )


def check_not_pooled(method: Method) -> None:
    """Refuse a method that trains on all data in one place.

    Args:
        method: The experiment's.

    Raises:
        FedkinError: It is one.
    """
    if method.needs.pooled:
        raise FedkinError(
            f"{method.name} needs everybody's data in one place: simulate it with fedkin run"
        )


def check_device(spec: Spec) -> None:
    """Refuse another device than a node computes on.

    Args:
        spec: The experiment.

    Raises:
        FedkinError: [engine] device is not "cpu".
    """
    if spec.engine.device != "cpu":
        raise FedkinError(
            "engine.device is for simulations, nodes compute on their CPU: leave it out"
        )
