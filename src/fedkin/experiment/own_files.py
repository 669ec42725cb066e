"""The files of somebody's own code that an experiment runs, by their digests."""

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import file_digest, is_user_code
from fedkin.core.system.user_measures import user_measure
from fedkin.methods import METHODS, known_name, recipe_of
from fedkin.methods.user_methods import user_recipe
from fedkin.models.user_models import user_class
from fedkin.runs.spec import Spec
from fedkin.setup.user_code import classes_of


def own_files(spec: Spec) -> dict[str, str]:
    """The method and the measure, where they are not fedkin's, and the classes of one's own.

    Args:
        spec: The specification; the code that it names is allowed.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.

    Raises:
        FedkinError: A class or the measure cannot be imported, or nobody has allowed it.
    """
    measure = spec.run.measure
    measures = {measure: file_digest(user_measure(measure))} if is_user_code(measure) else {}
    models = {name: file_digest(user_class(name)) for name in classes_of(spec)}
    method = spec.method.name
    return {**(method_file(method) if _known(method) else {}), **models, **measures}


def _known(method: str) -> bool:
    """Whether a method of that name can be found; a Method value has whatever name it was given."""
    if is_user_code(method):
        try:
            user_recipe(method)
        except FedkinError:
            return False
        return True
    try:
        known_name(method)  # no other package is imported for it
    except FedkinError:
        return False
    return True


def method_file(method: str) -> dict[str, str]:
    """That of a method of one's own, or of one which another package registers.

    Args:
        method: Its name, or an alias; or ``package.module:function``, which is allowed.

    Returns:
        {name: digest}; {} of a method of fedkin's.

    Raises:
        FedkinError: An unknown name, or a function that cannot be imported.
    """
    if is_user_code(method):
        return {method: file_digest(user_recipe(method))}
    name = method if method in METHODS else known_name(method)
    return {} if name in METHODS else {name: file_digest(recipe_of(name))}
