"""The files of somebody's own code that an experiment runs, by their digests."""

from fedkin.core.errors import FedkinError
from fedkin.methods import METHODS, known_name, registry
from fedkin.models.own import own_class
from fedkin.models.own_code import file_digest
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import code_of


def own_files(spec: Spec) -> dict[str, str]:
    """The method, where another package registers it, and the classes of one's own.

    Args:
        spec: The specification; the classes that it names are allowed.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.

    Raises:
        FedkinError: A class cannot be imported, or nobody has allowed it.
    """
    models = {name: file_digest(own_class(name)) for name in code_of(spec)}
    try:
        return {**registered_file(spec.method.name), **models}
    except FedkinError:  # a Method value was given, whose name nobody registers
        return models


def registered_file(method: str) -> dict[str, str]:
    """That of a method which another package registers.

    Args:
        method: Its name, or an alias.

    Returns:
        {name: digest}; {} of a method of fedkin's.

    Raises:
        FedkinError: An unknown name.
    """
    name = method if method in METHODS else known_name(method)
    return {} if name in METHODS else {name: file_digest(registry()[name])}
