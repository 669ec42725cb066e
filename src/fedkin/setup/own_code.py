"""Code of somebody's own that a specification names: the method, and the classes of its models."""

from fedkin.core.system.own_code import is_own
from fedkin.methods import own as methods
from fedkin.models import own as models
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
        The classes, and the method as ``package.module:function``.
    """
    name = spec.method.name
    return sorted({*classes_of(spec), *([name] if is_own(name) else [])})


def permit(spec: Spec) -> None:
    """Let this process import the code that a specification names: who wrote it is at the keyboard.

    Args:
        spec: The specification.
    """
    models.allow(classes_of(spec))
    methods.allow([spec.method.name] if is_own(spec.method.name) else [])
