"""The code of a search that is not fedkin's: who changes it, searches anew."""

from itertools import product

from fedkin.core.errors import FedkinError
from fedkin.experiment.own_files import own_files
from fedkin.runs.spec import Spec
from fedkin.sweep.space import NAME, Space, changed


def user_code(base: Spec, space: Space) -> dict[str, str]:
    """The methods, models and the measure of somebody's own that trials may have.

    Args:
        base: The experiment.
        space: What is searched, checked: its code is allowed.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.
    """
    naming = {
        key: values
        for key, values in space.items()
        if (key == NAME or key.startswith("model."))
        and isinstance(values, list)
        and any(isinstance(value, str | list | dict) for value in values)
    }
    files: dict[str, str] = {}
    for point in product(*naming.values()):
        try:
            files |= own_files(changed(base, dict(zip(naming, point, strict=True))))
        except FedkinError:  # a combination that no trial can have: other ones are taken
            continue
    return files
