"""Methods of other people's modules, by ``package.module:function``: only those whose names a
person has typed, or allowed.
"""

import inspect
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.experiment.own_files import own_files, registered_file
from fedkin.methods import known_name, made_by
from fedkin.models.own_code import OwnCode, file_digest
from fedkin.runs.spec import Spec

_code = OwnCode("method", "say --trust-code if you trust where it comes from")
allow = _code.allow


def is_outside(name: str) -> bool:
    """Whether a name is that of a function in somebody's module."""
    return ":" in name


def checked_name(name: str) -> str:
    """The method's own name, or the path of one that can be imported."""
    if not is_outside(name):
        return known_name(name)
    _function(name)
    return name


def outside_method(name: str, hyper: dict[str, Any], lr: float) -> Method:
    """The method that ``package.module:function`` makes.

    Raises FedkinError: nobody has allowed it, it cannot be imported, it is no function that makes
    a method, or a hyper-parameter is not its own.
    """
    found = made_by(name, _function(name), hyper, {"lr": lr})
    if not isinstance(found, Method):
        raise FedkinError(f"{name} makes no fedkin.Method, but {type(found).__name__}")
    return found


def code_of_case(method: str, spec: Spec) -> dict[str, str]:
    """The code of a method and its experiment that is not fedkin's; it must be allowed.

    Args:
        method: Its name, or the path of one of somebody's module.
        spec: The experiment that it runs on.

    Returns:
        {name: digest of the file that it is written in}; {} where all code is fedkin's.

    Raises:
        FedkinError: Nobody has allowed it, it cannot be imported, or nobody knows the method.
    """
    own = {method: code_digest(method)} if is_outside(method) else registered_file(method)
    return {**own, **own_files(spec)}


def code_digest(name: str) -> str:
    """Stands for the file that an allowed method is written in: who changes it, searches anew. What
    that file imports is not looked at.
    """
    return file_digest(_function(name))


def _function(path: str) -> Any:
    found = _code.imported(path)
    if not inspect.isfunction(found):
        raise FedkinError(f"method {path!r} is no function that makes a method")
    return found
