"""A method as it is typed: a name, or the path of a function of one's own, and hyper-parameters."""

from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.system.user_code import in_a_file_here, is_user_code, of_this_folder
from fedkin.runs.short_form import short_form


def typed_method(text: str) -> tuple[str, dict[str, Any]]:
    """A method's name and its hyper-parameters. Nothing of one's own is imported.

    >>> typed_method("ditto:lam=2"), typed_method("my_methods:slower:share=0.5")
    (('ditto', {'lam': 2}), ('my_methods:slower', {'share': 0.5}))

    Args:
        text: ``name:key=value,key=value``; the name may be ``package.module:function``, unless the
            first word of it is a method's, and ``file.py:function`` whatever the file is called.

    Returns:
        (name, {hyper-parameter: value}).

    Raises:
        FedkinError: A value without its key.
    """
    typed, text = text, of_this_folder(text)
    head, _, rest = text.partition(":")
    a_file = text != typed  # no method of fedkin's is meant, though one may have that name
    if is_user_code(f"{head}:{rest.partition(':')[0]}") and (a_file or not _known(head)):
        name, options = short_form(rest, lambda name: _keyless(text, f"{head}:{name}"))
        return f"{head}:{name}", options
    if not _known(head) and (own := in_a_file_here(head)):
        raise FedkinError(f"unknown method {head!r}: {own}")
    return short_form(text, lambda name: _keyless(text, name))


def _known(name: str) -> bool:
    from fedkin.methods import method_names, own_name

    known = method_names()
    return own_name(name, known) in known


def _keyless(text: str, name: str) -> str:
    """Raises FedkinError: for a name that is none, or for a value without a key."""
    from fedkin.methods import known_name

    if not is_user_code(name):
        known_name(name)
    ours, _, word = text.partition(":")
    # a module of one's own may have the name of a method
    own = (
        f" (or {ours}.py:{word} for a function of your file {ours}.py)"
        if is_user_code(text)
        else ""
    )
    raise FedkinError(f"--method {text} is not understood: write {name}:key=value{own}")
