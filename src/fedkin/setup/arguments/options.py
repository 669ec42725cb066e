"""What is typed after ``fedkin run``, as a checked specification: a file, options, short forms,
``--set``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.system.user_code import of_this_folder
from fedkin.runs.short_form import short_form
from fedkin.runs.spec import (
    PublicSection,
    Spec,
    assign,
    literal,
    our_names,
    parse,
    read,
)
from fedkin.setup.arguments.choosing import choose, our_name, without_options
from fedkin.setup.arguments.experiment_file import check_experiment_file
from fedkin.setup.arguments.given_once import check_given_once
from fedkin.setup.arguments.typed_method import typed_method
from fedkin.setup.arguments.typed_models import typed_models

Content = dict[str, Any]


def specification(
    file: Path | None,
    options: Mapping[str, Any],
    settings: Sequence[str],
    trust_code: bool = False,
    command: str = "run",
    where: str = "command line",
) -> tuple[Spec, list[str]]:
    """The file's experiment with the options and the settings ("section.key=value") in place of
    what it says.

    The file is checked by itself first, so that its mistakes are reported with their lines. Code
    that the options name may be imported: who runs the command typed it. Code that the file names
    may be if its folder is trusted.

    Args:
        file: An experiment's TOML file; None: defaults.
        options: {option, without hyphens, or the section.key that it stands for: value, or a list
            of values}; None for what was not typed.
        settings: "section.key=value", as typed after --set.
        trust_code: Whether code that the file names may be imported, whatever its folder.
        command: What was typed after ``fedkin``, for messages.
        where: Whence the options are, for messages.

    Returns:
        (the specification, hints: keys that have another name here, and keys of the file that no
        longer apply).

    Raises:
        FedkinError: The first mistake, in one sentence; two of them give one key; or the file names
            code, and nobody trusts its folder.
    """
    content: Content = {}
    hints: list[str] = []
    if file is not None:
        check_experiment_file(file, command)
        content, text = read(file)
        written, hints = parse(content, text, str(file))
        content, _ = our_names(content)
    changes = [*_of_options(options), *((f"--set {text}", *setting(text)) for text in settings)]
    changes.sort(key=lambda change: not chooses(change[1]))
    check_given_once((typed, _alone(key, value)) for typed, key, value in changes)
    for _, key, value in changes:
        hints += place_setting(content, key, value)
    spec, more = parse(content, where=where)
    named = (spec.method.name, spec.run.measure, spec.model.name, *spec.model.map.values())
    if any(":" in name for name in named):
        _permit(spec, file, None if file is None else written, trust_code)
    return spec, [*dict.fromkeys([*hints, *more])]


def _permit(spec: Spec, file: Path | None, written: Spec | None, trust_code: bool) -> None:
    """Raises FedkinError where a file names code whose folder nobody trusts."""
    from fedkin.runs.trust import require
    from fedkin.setup.user_code import code_of, permit

    if file is not None and written is not None:
        require(file, written, sorted({*code_of(written)} & {*code_of(spec)}), trust_code)
    permit(spec)


def setting(text: str) -> tuple[str, Any]:
    """What somebody typed after --set, taken apart.

    Args:
        text: "section.key=value".

    Returns:
        (key, value): a number, a list, … where the text is one; a short form stays text.

    Raises:
        FedkinError: It has no key, or no value.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise FedkinError(f"--set {text} is not understood: write --set section.key=value")
    short = key.strip() in SHORT_FORMS  # "--set split=dirichlet:0.1" is the option --split
    return key.strip(), value.strip() if short else literal(value.strip())


def chooses_method(settings: Sequence[str]) -> bool:
    """Whether somebody chose the method by --set.

    Args:
        settings: "section.key=value", as typed after --set.

    Returns:
        True where "method" or "method.name" is among the keys.

    Raises:
        FedkinError: One has no key or no value.
    """
    return any(setting(text)[0] in ("method", "method.name") for text in settings)


def chooses(key: str) -> bool:
    """Whether a setting chooses by name: it goes first, since it drops the keys of what was chosen
    before.

    Args:
        key: As it is typed after --set.

    Returns:
        True of "method" and "model.name", say.
    """
    place = our_name(key)
    return key in SHORT_FORMS or (place.endswith(".name") and place.count(".") == 1)


def _of_options(options: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(as it was typed, key, value); each value of one that repeats, such as --transform."""
    for key, value in options.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            shown = " ".join(map(str, values))
            typed = f"--{key.rpartition('.')[2].replace('_', '-')} {shown}"
            yield from ((typed, key, one) for one in values)


def _alone(key: str, value: Any) -> Content:
    """What one change comes to where nothing else is said."""
    content: Content = {}
    place_setting(content, key, value)
    return content


def place_setting(content: Content, key: str, value: Any) -> list[str]:
    """Lay what one setting says into the sections, in place of what they say.

    Args:
        content: {section: {key: value}}, which is changed.
        key: An option, "section.key", or what other libraries call it.
        value: As it is typed, or as Python has it.

    Returns:
        Hints: another name of the key here, and keys that no longer apply.

    Raises:
        FedkinError: It is not understood.
    """
    if key in SHORT_FORMS:
        return SHORT_FORMS[key](content, str(value))
    place = our_name(SPEC_KEYS.get(key, key))
    hints = [] if key in SPEC_KEYS or place == key else [f"{key} is called {place} here"]
    section, _, last = place.partition(".")
    if last == "name" and isinstance(value, str):
        return [*hints, *choose(content, section, value, {})]
    assign(content, place, value)
    return hints


def _method(content: Content, text: str) -> list[str]:
    return choose(content, "method", *typed_method(text))


def _split(content: Content, text: str) -> list[str]:
    from fedkin.data.partitions.registry import PARTITIONS, parameters

    def first(name: str) -> str:
        if name not in PARTITIONS:
            raise unknown("partition", name, PARTITIONS)
        keys = list(parameters(name))
        if not keys:
            raise FedkinError(f"partition {name} takes no parameter: write --split {name}")
        return keys[0]

    return choose(content, "split", *short_form(text, first))


def _data(content: Content, text: str) -> list[str]:
    """A name, a file or a folder; keys of [data] follow a colon:
    patients.csv:client=hospital,label=died.
    """
    from fedkin.data.formats.hugging_face import HUB
    from fedkin.data.formats.user_files import is_path
    from fedkin.data.sources import as_typed

    hub = HUB if text.startswith(HUB) else ""
    if is_path(text) and not hub:
        return choose(content, "data", text, {})
    name, parameters = short_form(
        text.removeprefix(hub), lambda name: _no_first("data", text, name)
    )
    return choose(content, "data", as_typed(hub + name), parameters)


def _model(content: Content, text: str) -> list[str]:
    """An architecture with options, a user's package.module:Class, or several of them with commas
    between. Nothing stays of what a file says of its own models.
    """
    from fedkin.models.build import MODELS

    several = typed_models(text)
    place: Content = content.setdefault("model", {})
    if place.pop("map", None):
        place.pop("shares", None)
        if place.pop("column", None) is not None or len(several) == 1:
            place.pop("rule", None)
    if len(several) > 1:
        hints = without_options(content, "model", text)
        place["map"] = {name: name for name in several}
        return hints
    text = several[0]
    if text.partition(":")[0] not in MODELS:
        return choose(content, "model", text, {})
    return choose(content, "model", *short_form(text, lambda name: _no_first("model", text, name)))


def _no_first(option: str, text: str, name: str) -> str:
    raise FedkinError(f"--{option} {text} is not understood: write {name}:key=value")


def _public(content: Content, text: str) -> list[str]:
    source, parameters = short_form(text, lambda name: "samples")
    for key in parameters:
        if key not in PublicSection.model_fields:
            raise unknown("key of [public]", key, PublicSection.model_fields)
    content.setdefault("public", {}).update({"source": source, **parameters})
    return []


def _engine(content: Content, text: str) -> list[str]:
    name, parameters = short_form(text, lambda name: "workers")
    content.setdefault("engine", {}).update({"name": name, **parameters})
    return []


def _transforms(content: Content, text: str) -> list[str]:
    """One transform more, after those of the file."""
    name, parameters = short_form(text, lambda name: _no_first("transform", text, name))
    content.setdefault("transforms", []).append({"name": name, **parameters})
    return []


def _measure(content: Content, text: str) -> list[str]:
    """One of fedkin's, or a function of one's own; that of a file of this folder too."""
    assign(content, "run.measure", of_this_folder(text))
    return []


SHORT_FORMS: dict[str, Callable[[Content, str], list[str]]] = {
    "method": _method,
    "data": _data,
    "split": _split,
    "model": _model,
    "public": _public,
    "engine": _engine,
    "transform": _transforms,
    "measure": _measure,
}
SPEC_KEYS = {
    "data_dir": "data.dir",
    "clients": "run.clients",
    "participation": "run.participation",
    "holdout_clients": "run.holdout_clients",
    "rounds": "run.rounds",
    "seed": "run.seed",
    "workers": "engine.workers",
}
