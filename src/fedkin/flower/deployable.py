"""What an experiment may not ask of nodes."""

from fedkin.core.errors import FedkinError
from fedkin.runs.spec import Spec
from fedkin.transforms.registry import check_deployable as check_transforms


def check_deployable(spec: Spec) -> None:
    """Raise FedkinError for what only a simulation does."""
    check_transforms([one.name for one in spec.transforms])
    if spec.privacy.of_samples:
        raise FedkinError(
            "privacy.unit = 'sample' is for simulations: nodes do not clip each sample yet; take "
            "'client', with where = 'client' or 'distributed' against the server too"
        )
    if spec.audit.canaries:
        raise FedkinError("audit.canaries is for simulations (fedkin run): nodes change no labels")
