"""What stands around the torch module of a model: what samples become before it, and its outputs
after it. A program holds both, a file of tensors neither.
"""

from collections.abc import Mapping
from typing import Any

import torch

from fedkin.core.family import Family
from fedkin.core.model import Inputs

AFTER = {
    "categorical": "log_softmax(m)",
    "bernoulli": "log_sigmoid([-m, m])",
    "gaussian": "offset + scale * m",
    "poisson": "exp(m)",
}


def preprocessing(dtype: torch.dtype, inputs: Inputs) -> dict[str, Any]:
    """The numbers with which x enters the module, as (x / divided_by − mean) / std.

    Args:
        dtype: Of the samples.
        inputs: How they enter the model.

    Returns:
        ``divided_by``, and ``mean`` and ``std``: one number for all channels, or one each.
    """
    return {
        "divided_by": 255 if dtype == torch.uint8 else 1,
        "mean": list(inputs.mean) or [0.0],
        "std": list(inputs.std) or [1.0],
    }


def postprocessing(family: Family) -> dict[str, Any]:
    """What y is of the module's outputs m.

    Args:
        family: Of the model.

    Returns:
        ``y``: a formula; ``offset`` and ``scale`` where they are in it.
    """
    steps: dict[str, Any] = {"y": AFTER[family.name]}
    if "scale" in steps["y"]:
        steps |= {"offset": family.offset, "scale": family.scale}
    return steps


def in_words(card: Mapping[str, Any]) -> str:
    """What a caller of the module does before it and after it.

    Args:
        card: Of a model, with ``input.module`` and ``output.module``.

    Returns:
        The end of a sentence on a file of tensors.
    """
    entering, leaving = card["input"]["module"], card["output"]["module"]
    x = "x" if entering["divided_by"] == 1 else f"x / {entering['divided_by']}"
    if (entering["mean"], entering["std"]) != ([0.0], [1.0]):
        each = "" if len(entering["mean"]) == len(entering["std"]) == 1 else " (by channel)"
        x = f"({x} − {_numbers(entering['mean'])}) / {_numbers(entering['std'])}{each}"
    y = leaving["y"]
    if "scale" in leaving:
        standard = (leaving["offset"], leaving["scale"]) == (0, 1)
        y = "m" if standard else f"{leaving['offset']:.9g} + {leaving['scale']:.9g} * m"
    return f"it takes {x}, and of what it gives, m, the model's output is y = {y}"


def _numbers(values: list[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"[{', '.join(f'{one:g}' for one in values)}]"
