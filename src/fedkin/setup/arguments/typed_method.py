"""A method as it is typed: a name, or the path of a function of one's own, and hyper-parameters."""

from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.system.own_code import is_own
from fedkin.runs.short_form import short_form


def typed_method(text: str) -> tuple[str, dict[str, Any]]:
    """A method's name and its hyper-parameters. Nothing of one's own is imported.

    >>> typed_method("ditto:lam=2"), typed_method("my_methods:slower:share=0.5")
    (('ditto', {'lam': 2}), ('my_methods:slower', {'share': 0.5}))

    Args:
        text: ``name:key=value,key=value``; the name may be ``package.module:function``, unless the
            first word of it is a method's.

    Returns:
        (name, {hyper-parameter: value}).

    Raises:
        FedkinError: A value without its key.
    """
    text = of_this_folder(text)
    head, _, rest = text.partition(":")
    if is_own(f"{head}:{rest.partition(':')[0]}") and not _known(head):
        name, options = short_form(rest, lambda name: _keyless(text, f"{head}:{name}"))
        return f"{head}:{name}", options
    return short_form(text, lambda name: _keyless(text, name))


def of_this_folder(text: str) -> str:
    """What is in a file of this folder, as what is in a module.

    >>> of_this_folder("mynet.py:Net"), of_this_folder("mynet:Net")
    ('mynet:Net', 'mynet:Net')

    Args:
        text: ``file.py:name``, or anything else.

    Returns:
        ``module:name``; anything else as it is.
    """
    file, _, name = text.partition(":")
    return f"{file[:-3]}:{name}" if file.endswith(".py") and "/" not in file else text


def _known(name: str) -> bool:
    from fedkin.methods import own_name, registry

    known = registry()
    return own_name(name, known) in known


def _keyless(text: str, name: str) -> str:
    """Raises FedkinError: for a name that is none, or for a value without a key."""
    from fedkin.methods import known_name

    if not is_own(name):
        known_name(name)
    raise FedkinError(f"--method {text} is not understood: write {name}:key=value")
