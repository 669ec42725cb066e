"""Code of somebody's own that a specification names: method, measure, and classes of models."""

from fedkin.core.system import user_measures
from fedkin.core.system.user_code import is_user_code
from fedkin.methods import user_methods as methods
from fedkin.models import user_models as models
from fedkin.runs.spec import Spec
from fedkin.setup.architectures import described


def classes_of(spec: Spec) -> list[str]:
    """The classes of one's own that a specification names.

    Args:
        spec: The specification.

    Returns:
        Each as ``package.module:Class``, without its options.
    """
    named = {described(name)[0] for name in (spec.model.name, *spec.model.map.values())}
    return sorted(name for name in named if ":" in name)


def code_of(spec: Spec) -> list[str]:
    """All code of one's own that a specification names; nothing is imported.

    Args:
        spec: The specification.

    Returns:
        The classes, and the method and the measure as ``package.module:function``.
    """
    return sorted({*classes_of(spec), *filter(is_user_code, (spec.method.name, spec.run.measure))})


def permit(spec: Spec) -> None:
    """Let this process import the code that a specification names: who wrote it is at the keyboard.

    Args:
        spec: The specification.
    """
    models.allow(classes_of(spec))
    methods.allow([spec.method.name] if is_user_code(spec.method.name) else [])
    user_measures.allow([spec.run.measure] if is_user_code(spec.run.measure) else [])
