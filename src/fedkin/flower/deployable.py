"""What an experiment may not ask of nodes."""

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from fedkin.transforms.registry import check_deployable as check_transforms


def check_deployable(spec: Spec) -> None:
    """Raise FedkinError for what only a simulation does."""
    check_transforms([one.name for one in spec.transforms])
    if spec.privacy.of_samples:
        raise FedkinError(
            "privacy.unit = 'sample' is for simulations: nodes add no noise yet; take 'client', "
            "which protects clients from those who see the models"
        )
    if spec.audit.canaries:
        raise FedkinError("audit.canaries is for simulations (fedkin run): nodes change no labels")
    if spec.privacy.at_client:
        raise FedkinError(
            f"privacy.where = '{spec.privacy.where}' is for simulations: nodes add no noise yet; "
            "take 'server', which protects from those who see the models"
        )
