"""A method that was given as a Python value: what a record keeps of it, since no name stands for
it.

That is what its functions hold beside their arguments, and the files that they are written in. What
those files import is not looked at.
"""

import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.models.own_code import file_digest
from fedkin.runs.spec import Spec
from fedkin.setup.build import Assembled, named

LONGEST = 200  # characters of a value that is kept


def facts_of(parts: Assembled) -> dict[str, Any]:
    """What a record keeps of values.

    Args:
        parts: The run.

    Returns:
        {"values": {"method": {"code": digest of its functions, "settings": {name: value}}}}; {}
        where the specification names all that runs.
    """
    if parts.given is None or _is_named(parts.spec, parts.given):
        return {}
    return {"values": {"method": _Functions(parts.given).standing}}


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
    if method is None and "method" in (facts.get("values") or {}):
        raise FedkinError(
            f"{folder} ran a Method that was given as a Python value, which no name stands for: "
            f"from Python, {how}"
        )


def same_given(folder: Path, parts: Assembled, facts: Mapping[str, Any]) -> list[str]:
    """A run goes on with the method that it began with, where that is given as a value.

    Args:
        folder: The run's.
        parts: Its objects, built again with the value that is given now.
        facts: What its record says of it.

    Returns:
        [] or a sentence: its functions' files are others. It is no refusal: a comment changes a
        file, too.

    Raises:
        FedkinError: The value has another name, or was made with other values.
    """
    if parts.given is None:
        return []
    then = (facts.get("values") or {}).get("method") or {}
    now = _Functions(parts.given).standing
    sides: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("is called", {"": facts.get("method")}, {"": parts.method.name}),
        ("was made with", facts.get("hyper") or {}, parts.method.hyper),
        ("holds", then.get("settings") or {}, now["settings"]),
    ]
    for verb, before, given in sides:
        for name, value in before.items():
            if text_of(given.get(name)) != text_of(value):
                which = f"{verb} {name} =" if name else verb
                raise FedkinError(
                    f"{folder}: the method that this run began with {which} {value!r}, not "
                    f"{given.get(name)!r}: give that one, or start another run"
                )
    if then.get("code", now["code"]) == now["code"]:
        return []
    return [
        f"the functions of {parts.method.name} are not in the files that this run began with, so "
        "its rounds may be of two methods: put them back, or start another run"
    ]


def _is_named(spec: Spec, given: Method) -> bool:
    """Whether the value is what [method] names, as in bench, which gives every method so."""
    try:
        other = named(spec)
    except FedkinError:
        return False
    same = (given.name, text_of(given.hyper)) == (other.name, text_of(other.hyper))
    return same and _Functions(given).standing == _Functions(other).standing


def text_of(value: Any) -> str:
    """A value as text, by which it is compared with what a record kept of it."""
    return json.dumps(value, sort_keys=True, default=str)


class _Functions:
    """The functions of a method that are not fedkin's machinery, with those that they hold; of
    fedkin's only those of its methods count.
    """

    def __init__(self, method: Method) -> None:
        self._code: dict[str, str] = {}
        self._settings: dict[str, Any] = {}
        self._known: set[int] = set()
        for part in method:
            self._look(part)

    @property
    def standing(self) -> dict[str, Any]:
        """What a record keeps of them."""
        code = hashlib.sha256(text_of(self._code).encode()).hexdigest()[:12]
        return {"code": code, "settings": self._settings}

    def _look(self, part: Any) -> None:
        if id(part) in self._known:
            return
        self._known.add(id(part))
        if isinstance(part, Method):
            for one in part:
                self._look(one)
        elif isinstance(part, functools.partial):
            self._hold(part.func, dict(enumerate(part.args)) | part.keywords)
            self._look(part.func)
        elif inspect.ismethod(part):
            self._look(part.__self__)
            self._look(part.__func__)
        elif inspect.isfunction(part):
            self._read(part)
            self._hold(part, _held(part))
        elif callable(part) and not inspect.isclass(part):
            self._read(type(part))
            if _counts(type(part)) and not isinstance(part, nn.Module):
                self._hold(type(part), getattr(part, "__dict__", {}))

    def _read(self, found: Callable[..., Any]) -> None:
        if not _counts(found):
            return
        name = _called(found)
        if _module(found) == "fedkin":
            self._code[f"{found.__module__}.{name}"] = ""
        else:
            self._code[name] = file_digest(found) or _source(found)

    def _hold(self, holder: Callable[..., Any], content: Mapping[Any, Any]) -> None:
        for name, value in content.items():
            if not _plain(value):
                self._look(value)
            elif _counts(holder):
                first = self._settings.setdefault(str(name), value)
                if text_of(first) != text_of(value):  # two functions call different things so
                    self._settings[f"{_called(holder).rpartition('.')[2]}.{name}"] = value


def _held(function: Any) -> dict[str, Any]:
    """What a function holds: variables of the function that made it, and defaults."""
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    code, defaults = function.__code__, function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    held |= dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    return held | (function.__kwdefaults__ or {})


def _called(found: Any) -> str:
    return str(getattr(found, "__qualname__", type(found).__qualname__))


def _counts(found: Any) -> bool:
    module = str(getattr(found, "__module__", ""))
    return _module(found) not in ("fedkin", "torch") or module.startswith("fedkin.methods.")


def _module(found: Any) -> str:
    return str(getattr(found, "__module__", "")).partition(".")[0]


def _source(found: Any) -> str:
    """Its own text where there is no file, as in a notebook."""
    try:
        return hashlib.sha256(inspect.getsource(found).encode()).hexdigest()[:12]
    except (OSError, TypeError):
        return ""


def _plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len(str(value)) <= LONGEST and all(map(_plain, value))
    short = not isinstance(value, str) or len(value) <= LONGEST
    return short and (value is None or isinstance(value, bool | int | float | str))
