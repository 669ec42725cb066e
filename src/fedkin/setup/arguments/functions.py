"""What stands for the functions of a method that was given as a Python value: what they hold beside
their arguments, and the files that they are written in.

What those files import is not looked at.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from torch import nn

from fedkin.core.method import Method
from fedkin.core.system.digests import short, text_of
from fedkin.core.system.user_code import file_digest

LONGEST = 200  # characters of a value that is kept


def standing(method: Method) -> dict[str, Any]:
    """What a record keeps of a method's functions.

    Args:
        method: The value.

    Returns:
        {"code": digest of what they are called and of the files that they are in, "settings":
        {name: number, text, or list of these}}. Of fedkin's functions those of its methods count.
    """
    return _Functions(method).standing


def is_the_callers(thing: Any) -> bool:
    """Whether a function or a class is neither torch's nor fedkin's machinery.

    Args:
        thing: A function or a class.

    Returns:
        True of fedkin's methods, too.
    """
    module = str(getattr(thing, "__module__", ""))
    return _package(thing) not in ("fedkin", "torch") or module.startswith("fedkin.methods.")


def written_in(thing: Any) -> str:
    """The digest of the file of a function or a class; of its own text where there is no file, as
    in a notebook; "" where there is neither.

    Args:
        thing: A function or a class.

    Returns:
        A few hexadecimal digits, or "".
    """
    try:
        return file_digest(thing) or short(inspect.getsource(thing))
    except (OSError, TypeError):
        return ""


class _Functions:
    """The functions of a method that are not fedkin's machinery, with those that they hold; of
    fedkin's only those of its methods count.
    """

    def __init__(self, method: Method) -> None:
        self._code: dict[str, str] = {}
        self._settings: dict[str, Any] = {}
        self._known: set[int] = set()
        for name, part in zip(Method._fields, method, strict=True):
            self._look(part)
            self._declare(name, part)

    @property
    def standing(self) -> dict[str, Any]:
        """What a record keeps of them."""
        return {"code": short(text_of(self._code)), "settings": self._settings}

    def _declare(self, name: str, part: Any) -> None:
        """What it declares beside its functions: its aggregation, its needs."""
        fields = getattr(part, "_fields", None)
        if fields is not None:
            declared = {key: value for key in fields if _plain(value := getattr(part, key))}
            self._code[name] = short(f"{type(part).__name__} {text_of(declared)}")

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
            self._hold_object(part.__self__)
            self._look(part.__func__)
        elif inspect.isfunction(part):
            self._read(part)
            self._hold(part, _held(part))
        elif isinstance(part, list | tuple | dict):
            self._look_into(part)
        elif callable(part) and not inspect.isclass(part):
            self._read(type(part))
            self._hold_object(part)
        elif dataclasses.is_dataclass(part) or isinstance(part, SimpleNamespace):
            self._hold_object(part)

    def _hold_object(self, thing: Any) -> None:
        if is_the_callers(type(thing)) and not isinstance(thing, nn.Module | type):
            self._hold(type(thing), getattr(thing, "__dict__", {}))

    def _look_into(self, several: Any) -> None:
        """Of what is too long, or no text and no number, the functions count."""
        for one in several.values() if isinstance(several, dict) else several:
            self._look(one)

    def _read(self, function: Callable[..., Any]) -> None:
        if not is_the_callers(function):
            return
        name = _called(function)
        if _package(function) == "fedkin":
            self._code[f"{function.__module__}.{name}"] = ""
        else:
            self._code[name] = written_in(function)

    def _hold(self, holder: Callable[..., Any], content: Mapping[Any, Any]) -> None:
        for name, value in content.items():
            if isinstance(value, np.ndarray):
                value = f"array {short(text_of(value.tolist()))}"
            if not _plain(value):
                self._look(value)
            elif is_the_callers(holder):
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


def _called(thing: Any) -> str:
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))


def _package(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).partition(".")[0]


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and _plain([*value.values()])
    if isinstance(value, list | tuple):
        return len(str(value)) <= LONGEST and all(map(_plain, value))
    short = not isinstance(value, str) or len(value) <= LONGEST
    return short and (value is None or isinstance(value, bool | int | float | str))
