"""What is asked of a Method that is given as a Python value, and of the settings beside it."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method
from fedkin.methods import METHODS
from fedkin.setup.arguments.functions import standing
from fedkin.setup.arguments.given import check_method

MARKS = '/\\:*?"<>|'  # which no name of a folder has everywhere
TAKEN = ("name", "safe")  # of [method], which any method takes


def check_settings(method: Method, content: Mapping[str, Any], lr: float) -> None:
    """Refuse settings that a value would drop without a word: it has its hyper-parameters.

    Args:
        method: The value.
        content: The sections that were asked for.
        lr: What [train] lr comes to.

    Raises:
        FedkinError: A key of [method] that is not any method's, or a learning rate that is not the
            value's own.
    """
    for key, value in content["method"].items():
        if key not in TAKEN:
            raise FedkinError(
                f"method.{key} is not for a Method given as a value, which has its own: give it to "
                f"the function that makes the Method, as {method.name}({key}={value!r})"
            )
    own = method.hyper.get("lr", lr)
    if "lr" in content.get("train", {}) and own != lr:
        raise FedkinError(
            f"train.lr is {lr}, and the Method given as a value was made with lr = {own}: make it "
            f"with lr={lr}, or leave train.lr out"
        )


def check_value(method: Any) -> None:
    """Refuse what is no Method value: a name, or the function that makes one.

    Args:
        method: What was given; None where nothing was.

    Raises:
        FedkinError: It is something else.
    """
    if isinstance(method, str):
        raise FedkinError("method is no Method but a str: leave a name out")
    check_method(method)


def check_called(method: Method) -> list[str]:
    """A method's name names the folder of its run, and stands in tables.

    Args:
        method: The value.

    Returns:
        [] or a sentence: it has the name of another method.

    Raises:
        FedkinError: It is empty, or cannot be the name of a folder.
    """
    name = method.name
    if not name.strip(". ") or not name.isprintable() or any(mark in name for mark in MARKS):
        raise FedkinError(
            f"the Method given as a value is called {name!r}, which names no folder: give it "
            "letters and figures, as method._replace(name='mine')"
        )
    if name not in METHODS or _made(name, method):
        return []
    return [
        f"the Method given as a value is called {name!r} and is not fedkin's {name}, but "
        "tables will say so: give it a name of its own, as method._replace(name='mine')"
    ]


def _made(name: str, method: Method) -> bool:
    """Whether a method of fedkin's, made with these hyper-parameters, has the same functions."""
    if "matrix" in method.hyper.values():  # a word for what is too much for a record
        return True
    try:
        same = METHODS[name](**method.hyper)
    except (FedkinError, TypeError):  # those of another method
        return False
    return bool(standing(same)["code"] == standing(method)["code"])
