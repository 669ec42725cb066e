"""Python keywords as sections of a specification: the names and short forms of the shell."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from fedkin.core.errors import FedkinError, cut, letters, unknown
from fedkin.data.partitions.registry import PARTITIONS, parameters
from fedkin.data.tables.schema import listed
from fedkin.methods import METHODS, own_name
from fedkin.models.build import MODELS, options_of
from fedkin.models.given import SUFFIX, register
from fedkin.runs.spec import Spec, assign
from fedkin.runs.spec_errors import keys_called
from fedkin.runs.usual_names import USUAL_NAMES
from fedkin.setup.arguments.given import GivenData, given_data, measure_name
from fedkin.setup.arguments.given_once import check_given_once
from fedkin.setup.arguments.options import SHORT_FORMS, SPEC_KEYS, place_setting
from fedkin.setup.arguments.plain import plain

PLACES = {
    **SPEC_KEYS,
    "out": "run.out",
    **{name: f"train.{name}" for name in ("lr", "batch_size", "steps", "epochs")},
    **{name: f"engine.{name}" for name in ("compile", "device")},
    **{name: f"data.{name}" for name in ("client", "label", "task", "drop", "missing", "group")},
}


def content_of(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], GivenData | None]:
    """Keywords as (sections, hints, data that were given as a value).

    Args:
        settings: names of options ("rounds", "data", "model"), ``section.key``, ``section__key``,
            whole sections as dicts, or what other libraries call them.

    Returns:
        ({section: {key: value}}, a hint for each key that has another name here, the data; None
        where they have a name).

    Raises:
        FedkinError: for a keyword that is none of these, with the nearest that is; or two that give
            one key.
    """
    content: dict[str, Any] = {}
    hints: list[str] = []
    data: GivenData | None = None
    given: list[tuple[str, dict[str, Any]]] = []
    named = [(key, value) for key, value in settings.items() if value is not None]
    for written, value in sorted(named, key=lambda item: item[0] not in SHORT_FORMS):
        key = written.replace("__", ".")
        alone: dict[str, Any] = {}
        if key == "model" and _are_names(value):
            value = ",".join(value)
        if key == "data" and not isinstance(value, str) and not hasattr(value, "__fspath__"):
            data = given_data(value)
            hints += data.unread
            assign(content, "data.name", data.file)
            assign(alone, "data.name", data.file)
        elif key == "model" and not isinstance(value, str | Mapping):
            assign(content, "model.name", given_model(value))
            assign(alone, "model.name", "")
        else:
            value = value if key == "measure" else plain(written, value)
            hints += _put(content, key, value, content)
            _put(alone, key, value, content)
        given.append((f"{written}=…", alone))
    check_given_once(given)
    if data is not None:
        _in_place(content, data)
    return content, hints, data


def _put(content: dict[str, Any], key: str, value: Any, chosen: Mapping[str, Any]) -> list[str]:
    """Lay what one keyword says into the sections; hints. ``chosen`` has the method, the model and
    the partition, whose options an unknown key may mean.
    """
    hints: list[str] = []
    if key == "measure":
        hints += SHORT_FORMS[key](content, measure_name(value))
    elif isinstance(value, Mapping) and key in Spec.model_fields:
        content.setdefault(key, {}).update(value)
    elif key in ("transform", "transforms"):
        several: list[Any] = content.setdefault("transforms", [])
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                hints += SHORT_FORMS["transform"](content, one)
            else:
                several.append(one)
    elif key in SHORT_FORMS:
        hints += SHORT_FORMS[key](content, str(value))
    else:
        assign(content, _place(key, chosen), value)
    return hints


def changes_of(settings: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords that change an experiment file, as ``specification`` takes options.

    Args:
        settings: As of ``content_of``, but names in place of data, models and methods.
        chosen: The file's sections, whose options an unknown keyword may mean.

    Returns:
        {option, or section.key: value, or a list of values}.

    Raises:
        FedkinError: A keyword that is none, two that give one key, or data, a model or a method
            that are no names.
    """
    changes: dict[str, Any] = {}
    given: list[tuple[str, dict[str, Any]]] = []
    for written, value in settings.items():
        key = written.replace("__", ".")
        if value is None:
            continue
        places: dict[str, Any]
        if isinstance(value, Mapping) and key in Spec.model_fields and key != "data":
            places = {f"{key}.{name}": [one] for name, one in plain(written, value).items()}
        elif key == "transforms":
            own: dict[str, Any] = {}
            _put(own, key, plain(written, value), chosen)
            places = {key: [own[key]]}  # in place of the file's
        elif key not in SHORT_FORMS:
            place = _place(key, chosen)  # below, a list of one, whatever the value is
            places = {place: [plain(written, value)]}
        elif key == "model" and _are_names(value):
            places = {key: ",".join(value)}
        elif _is_name(value):
            places = {key: value}
        else:
            raise FedkinError(
                f"{written}={type(value).__name__} is a value, and an experiment file holds names: "
                f"use Experiment({written}=…) without a file"
            )
        given.append((f"{written}=…", _alone(places)))
        changes |= places
    check_given_once(given)
    return changes


def _alone(places: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of what one keyword says."""
    content: dict[str, Any] = {}
    for place, value in places.items():
        for one in value if isinstance(value, list) else [value]:
            place_setting(content, place, one)
    return content


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _is_name(value: Any) -> bool:
    """A text or a path, or several; or another plain value, which its option judges."""
    if isinstance(value, list | tuple):
        return all(_is_name(one) for one in value)
    return isinstance(value, str | int | float) or hasattr(value, "__fspath__")


def _place(key: str, content: Mapping[str, Any]) -> str:
    if key in PLACES or "." in key or key in USUAL_NAMES:
        return PLACES.get(key, key)
    own = any(letters(key) == letters(one) for one in (*PLACES, *SHORT_FORMS))
    meant = [*keys_called(key, Spec()), *_options_called(key, content)]
    if meant and not own:
        typed = meant[0].replace(".", "__")
        raise FedkinError(
            f"unknown keyword {cut(key)!r}: did you mean {' or '.join(map(repr, meant))}, "
            f"which Python writes as {typed}=… or **{{{meant[0]!r}: …}}?"
        )
    raise unknown("keyword", key, {*PLACES, *SHORT_FORMS})


def _options_called(key: str, content: Mapping[str, Any]) -> list[str]:
    """The keys of this name that the chosen method, model and partition have of their own."""

    def chosen(section: str) -> str:
        return str(content.get(section, {}).get("name", getattr(Spec(), section).name))

    method, model, split = own_name(chosen("method"), METHODS), chosen("model"), chosen("split")
    options = {
        "method": inspect.signature(METHODS[method]).parameters if method in METHODS else (),
        "model": options_of(model) if model in MODELS else (),
        "split": parameters(split) if split in PARTITIONS else (),
    }
    return [
        f"{section}.{one}"
        for section, names in options.items()
        for one in names
        if letters(one) == letters(key)
    ]


def _in_place(content: dict[str, Any], data: GivenData) -> None:
    """Arrays that name their clients are divided so; columns that are categories in a DataFrame are
    named as such, and labels that are words of digits.
    """
    split, section = content.get("split", {}), content.get("data", {})
    if data.has_clients and "name" not in split:
        content["split"] = {**split, "name": "natural"}
    label = section.get("label", "label")
    aside = {label, section.get("client"), section.get("group")}
    aside |= {
        name for key in ("drop", "text", "about") for name in listed(key, section.get(key, ()))
    }
    columns = [name for name in data.categories if name not in aside]
    if label in data.names and section.get("task") != "regression":
        columns.append(label)
    named = listed("categorical", section.get("categorical", ()))
    if more := [name for name in columns if name not in named]:
        content["data"] = {**section, "categorical": [*named, *more]}


class Copies:
    """Makes copies of a module that was given.

    Args:
        module: Whose copies, with the parameters that it has.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __call__(self) -> nn.Module:
        """A copy."""
        return copy.deepcopy(self.module)


def given_model(model: Callable[..., Any]) -> str:
    """The name under which a class, a function or a module is built here, as long as Python runs.

    A module is copied for each model, with the parameters that it has.

    Args:
        model: A class, a function that makes a module, or a module.

    Returns:
        "Net@python" of a class Net, for [model] name.

    Raises:
        FedkinError: It is none of these.
    """
    make: Any = model
    name = getattr(model, "__name__", type(model).__name__)
    if isinstance(model, nn.Module):
        name, make = type(model).__name__, Copies(model)
    elif not (inspect.isclass(model) or inspect.isroutine(model)):
        raise FedkinError(
            f"model={model!r} is no torch module, no class and no function that makes one"
        )
    name += SUFFIX
    register({name: make})
    return name
