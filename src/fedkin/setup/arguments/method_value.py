"""What is asked of a Method that is given as a Python value, and of the settings beside it."""

from collections.abc import Mapping
from typing import Any

from fedkin.core.errors import FedkinError
from fedkin.core.method import Method

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
