"""Third-party code that a case runs, by digest: who changes it, searches anew."""

from fedkin.experiment.own_files import method_file, own_files
from fedkin.runs.spec import Spec


def third_party_code(method: str, spec: Spec) -> dict[str, str]:
    """The code of a method and its experiment that is not fedkin's; it must be allowed.

    Args:
        method: Its name, or the path of one of somebody's module.
        spec: The experiment that it runs on.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.

    Raises:
        FedkinError: Nobody has allowed it, it cannot be imported, or nobody knows the method.
    """
    return {**method_file(method), **own_files(spec)}
