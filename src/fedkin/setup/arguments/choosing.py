"""A choice in place of another one: keys that belonged to that are dropped."""

from typing import Any

from fedkin.runs.spec import SECTIONS, Spec, our_names
from fedkin.runs.suggested import scale_of

Content = dict[str, Any]


def choose(content: Content, section: str, name: str, parameters: Content) -> list[str]:
    """section.name = name. The keys that the file gave to another choice are dropped, and a hint
    says so.

    Args:
        content: {section: {key: value}}, which is changed.
        section: "method", "model", "data" or "split", say.
        name: What is chosen.
        parameters: {key: value} of the choice.

    Returns:
        [], or one hint.
    """
    place: Content = content.setdefault(section, {})
    same = _same(section, _chosen(content, section)) == _same(section, name)
    hints = [] if same else without_options(content, section, name)
    place.update({"name": name, **parameters})
    return hints


def without_options(content: Content, section: str, instead: str) -> list[str]:
    """Drop the keys of a section that belong to what was chosen in it.

    Args:
        content: {section: {key: value}}, which is changed.
        section: As of ``choose``.
        instead: What is chosen now, for the hint.

    Returns:
        [], or one hint.
    """
    place: Content = content.setdefault(section, {})
    theirs = [key for key in place if key not in _declared(section)]
    if section == "data":
        theirs += _scale(place, _chosen(content, section))
    for key in theirs:
        del place[key]
    if not theirs:
        return []
    return [
        f"[{section}] {', '.join(theirs)} of the file went with {_chosen(content, section)!r}: "
        f"not used for {instead!r}"
    ]


def our_name(key: str) -> str:
    """Our name of one key.

    >>> our_name("train.learning_rate"), our_name("num_clients"), our_name("method.alpha")
    ('train.lr', 'run.clients', 'method.alpha')

    Args:
        key: "section.key", or what other libraries call one.

    Returns:
        "section.key"; anything else as it is.
    """
    section, dot, last = key.partition(".")
    if dot and (section not in SECTIONS or "." in last):
        return key
    ours, _ = our_names({section: {last: 0}} if dot else {key: 0})
    found = [(at, name) for at, one in ours.items() if isinstance(one, dict) for name in one]
    return ".".join(found[0]) if found else key


def _scale(data: Content, name: Any) -> list[str]:
    """The keys of the scale that the data suggested, which nobody chose."""
    scale = scale_of(str(name))
    return [*scale] if all(_listed(data.get(key)) == one for key, one in scale.items()) else []


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _declared(section: str) -> dict[str, Any]:
    return type(getattr(Spec(), section)).model_fields if section in Spec.model_fields else {}


def _chosen(content: Content, section: str) -> Any:
    declared = _declared(section)
    default = declared["name"].default if "name" in declared else None
    return content.get(section, {}).get("name", default)


def _same(section: str, name: Any) -> Any:
    if section != "method" or not isinstance(name, str):
        return name
    from fedkin.methods import METHODS, own_name

    return own_name(name, METHODS)
