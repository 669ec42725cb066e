"""Methods and models that were given as Python values: what a record keeps of them, since no name
stands for them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.core.model import Model
from fedkin.core.system.digests import short, text_of
from fedkin.models.given import recipe_of
from fedkin.runs.directory import of_value
from fedkin.runs.spec import Spec
from fedkin.setup.arguments.functions import is_the_callers, standing, written_in
from fedkin.setup.arguments.keywords import Copies
from fedkin.setup.build import Assembled, base_method


def facts_of(parts: Assembled) -> dict[str, Any]:
    """What a record keeps of values.

    Args:
        parts: The run.

    Returns:
        {"values": {"method": ``standing``, "models": {name: {"code", "layers": digests of its
        files and of what is printed of the module, "parameters": their number}}}}; {} where the
        specification names all that runs.
    """
    values: dict[str, Any] = {}
    if parts.method_value is not None and not _is_named(parts.spec, parts.method_value):
        values["method"] = standing(parts.method_value)
    models = {name: _of_model(m) for name, m in parts.models.items() if recipe_of(name)}
    if models:
        values["models"] = models
    return {"values": values} if values else {}


def check_given(folder: Path, method: Method | None, facts: Mapping[str, Any], how: str) -> None:
    """A method that was a value is not replaced by whatever has its name.

    Args:
        folder: The run's.
        method: The value that somebody gives now; None where they give none.
        facts: What its record says of it.
        how: What gives it, in Python.

    Raises:
        FedkinError: None is given, and the run had one.
    """
    if method is None and of_value(facts):
        raise FedkinError(
            f"{folder} ran a Method that was given as a Python value, which no name stands for: "
            f"from Python, {how}"
        )


def same_given(folder: Path, parts: Assembled, facts: Mapping[str, Any]) -> list[str]:
    """A run goes on with the method and the models that it began with, where they are values.

    Args:
        folder: The run's.
        parts: Its objects, built again with what is given now.
        facts: What its record says of it.

    Returns:
        A sentence for each whose files are others. It is no refusal: a comment changes a file, too.

    Raises:
        FedkinError: One has another name, or was made with other values.
    """
    differences = _same_models(folder, parts, facts)
    if parts.method_value is None:
        return differences
    then = (facts.get("values") or {}).get("method") or {}
    now = standing(parts.method_value)
    same_method(folder, parts.method_value, facts)
    if then.get("code", now["code"]) == now["code"]:
        return differences
    return [
        *differences,
        f"the functions of {parts.method.name} are not in the files that this run began with, so "
        "its rounds may be of two methods: put them back, or start another run",
    ]


def same_method(folder: Path, method: Method, facts: Mapping[str, Any]) -> None:
    """A Method value is what a run began with.

    Args:
        folder: The run's.
        method: The value that somebody gives now.
        facts: What its record says of it.

    Raises:
        FedkinError: It has another name, or was made with other values.
    """
    then, now = (facts.get("values") or {}).get("method") or {}, standing(method)
    sides: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("is called", {"": facts.get("method")}, {"": method.name}),
        ("was made with", _hyper(facts), method.hyper),
        ("holds", then.get("settings") or {}, now["settings"]),
    ]
    for verb, before, value_now in sides:
        for name, value in before.items():
            if text_of(value_now.get(name)) != text_of(value):
                which = f"{verb} {name} =" if name else verb
                raise FedkinError(
                    f"{folder}: the method that this run began with {which} {value!r}, not "
                    f"{value_now.get(name)!r}: give that one, or start another run"
                )


def _hyper(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without what [method] adds to any method's."""
    return {key: value for key, value in (facts.get("hyper") or {}).items() if key != "safe"}


def _same_models(folder: Path, parts: Assembled, facts: Mapping[str, Any]) -> list[str]:
    differences = []
    for name, then in ((facts.get("values") or {}).get("models") or {}).items():
        now = _of_model(parts.models[name]) if name in parts.models else {}
        if any(now.get(key) != then.get(key) for key in ("layers", "parameters")):
            raise FedkinError(
                f"{folder}: model {name!r} is not what this run began with (parameters: "
                f"{then.get('parameters')} then, {now.get('parameters')} now): build its "
                "Experiment(model=THE MODEL) again first, or start another run"
            )
        if now.get("code") != then.get("code"):
            differences.append(
                f"the file of model {name} is not what this run began with, so its rounds may be "
                "of two models: put it back, or start another run"
            )
    return differences


def _of_model(model: Model) -> dict[str, Any]:
    recipe = recipe_of(model.name)
    made = recipe.module if isinstance(recipe, Copies) else None
    kinds = [recipe] if made is None else sorted({*map(type, made.modules())}, key=str)
    files = {
        str(getattr(code, "__qualname__", "")): written_in(code)
        for code in kinds
        if is_the_callers(code)
    }
    words = "" if model.layers is None else re.sub(" at 0x[0-9a-f]+", "", model.layers())
    return {
        "code": short(text_of(files)),
        "layers": short(words),
        "parameters": sum(value.numel() for value in model.initial.values()),
    }


def _is_named(spec: Spec, method_value: Method) -> bool:
    """Whether the value is what [method] names, as in bench, which gives every method so."""
    try:
        named_method = base_method(spec)
    except FedkinError:
        return False
    same = (method_value.name, text_of(method_value.hyper)) == (
        named_method.name,
        text_of(named_method.hyper),
    )
    return same and text_of(standing(method_value)) == text_of(standing(named_method))
