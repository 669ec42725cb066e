"""The files of somebody's own code that an experiment runs, by their digests."""

from fedkin.methods import METHODS, Unloadable, known_name, own_name, registry
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
    method = spec.method.name
    return {**(registered_file(method) if _registered(method) else {}), **models}


def _registered(method: str) -> bool:
    """Whether a method of that name is fedkin's or another package's; the name of a Method value is
    neither.
    """
    if method in METHODS:  # no other package is imported for it
        return True
    known = registry()
    found = known.get(own_name(method, known))
    return found is not None and not isinstance(found, Unloadable)


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
