"""From a name to a Model: fedkin's architectures, or any torch module by
``package.module:Class``.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from fedkin.core.errors import FedkinError, unknown
from fedkin.core.family import CATEGORICAL, FAMILIES
from fedkin.core.layers import Layers
from fedkin.core.model import RAW, Inputs, Learner, Model, from_module
from fedkin.core.module_state import parameter_names
from fedkin.core.rng import Key
from fedkin.core.system.no_exit import no_exit
from fedkin.core.system.user_code import named_line_of
from fedkin.models.adapters import dnn_adapter
from fedkin.models.dry_run import sized, tried_in_training, try_on
from fedkin.models.frozen import frozen_names, without_gradient
from fedkin.models.given import SUFFIX, recipe_of
from fedkin.models.head import some_samples, with_head
from fedkin.models.learner import from_learner
from fedkin.models.lstm import lstm
from fedkin.models.resnet import mobilenet_v2, resnet18
from fedkin.models.size import check_fits
from fedkin.models.small import Shape, cnn_cgpfl, cnn_comet, cnn_persfl, dnn, glm, mlr
from fedkin.models.transformer import transformer_lm
from fedkin.models.user_models import VERBS, user_class
from fedkin.models.vgg import vgg11, vgg13
from fedkin.models.without_statistics import without_statistics

__all__ = ["MODELS", "build", "options_of"]

MODELS: dict[str, Callable[..., nn.Module]] = {
    "mlr": mlr,
    "dnn": dnn,
    "dnn_adapter": dnn_adapter,
    "glm": glm,
    "cnn_persfl": cnn_persfl,
    "cnn_comet": cnn_comet,
    "cnn_cgpfl": cnn_cgpfl,
    "vgg11": vgg11,
    "vgg13": vgg13,
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "transformer_lm": transformer_lm,
    "lstm": lstm,
}

FROM_DATA = ("shape", "classes")  # given to every architecture that takes them


def build(
    name: str,
    shape: Shape,
    classes: int,
    key: Key,
    family: str = "categorical",
    inputs: Inputs = RAW,
    buffers: str = "global",
    head: str | None = None,
    frozen: Layers = (),
    **options: Any,
) -> Model:
    """The model called ``name`` for samples of ``shape``, its first parameters drawn from (seed,
    "model:name").

    Args:
        name: Of an architecture, or ``package.module:Class``.
        shape: Of one sample, without the batch.
        classes: How many; 0 where labels are numbers.
        key: Of the experiment's seed.
        family: What predictions are: a name of ``FAMILIES``.
        inputs: How samples enter the model.
        buffers: "drop" leaves running statistics out.
        head: The name of the part that is its head; None: the model's own.
        frozen: Names of parameters that are no part of it but constants, as are those whose
            ``requires_grad`` is False.
        **options: Go to the architecture (``hidden`` for dnn).

    Returns:
        The model, tried on a few samples.

    Raises:
        FedkinError: An unknown name or option, a model that is larger than this machine's memory, a
            user's class that cannot be imported, built or trained, or data that the architecture
            cannot take.
    """
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    recipe = _recipe(name)
    accepted = inspect.signature(recipe).parameters
    outputs = classes if family == CATEGORICAL.name else 1
    arguments = {"shape": shape, "classes": outputs}
    chosen = {key: value for key, value in arguments.items() if key in accepted}
    own = options_of(name)
    for option in options:
        if option not in own:
            raise unknown(f"option of model {name!r}", option, own)
        _check_size(name, option, options[option], own[option].default)
    if name in MODELS:
        check_fits(name, MODELS[name], {**chosen, **options})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key.integer(f"model:{name}"))
        made = _make(name, recipe, {**chosen, **options})
        if isinstance(made, nn.Module):
            made = sized(name, made, shape, inputs.tokens)
    samples = (shape, classes, inputs.tokens)
    if not isinstance(made, nn.Module):
        model = _from_learner(name, made, family, inputs, frozen)
        try_on(model, *samples)
        return model

    def whole(frozen: frozenset[str]) -> Model:
        model = _from_module(name, made, family, inputs, buffers, frozen)
        try_on(model, *samples)
        return with_head(model, made, some_samples(*samples), head)

    model = _frozen(whole, made, frozen)
    if name in MODELS:
        return model
    return tried_in_training(model, made, *samples)


def _frozen(whole: Callable[[frozenset[str]], Model], module: nn.Module, frozen: Layers) -> Model:
    """The model that ``whole`` makes around parameters that stay as they are: those of the module
    that ask for no gradient, and those that ``frozen`` names.
    """
    fixed = without_gradient(module)
    model = whole(fixed)
    names = frozen_names(model, frozen, fixed, parameter_names(module))
    if names != fixed:
        model = whole(names)  # again: of what is frozen, batch norm stands still
    held = {name: value for name, value in model.initial.items() if name in names}
    return model.freezing(held) if held else model


def options_of(name: str) -> Mapping[str, inspect.Parameter]:
    """What the architecture called ``name`` takes; ``shape`` and ``classes`` are not the user's to
    choose.

    Args:
        name: As ``build`` takes it.

    Returns:
        {option: its parameter in the signature}.

    Raises:
        FedkinError: There is no such architecture.
    """
    return {
        key: one
        for key, one in inspect.signature(_recipe(name)).parameters.items()
        if key not in FROM_DATA
    }


def _recipe(name: str) -> Callable[..., nn.Module | Learner]:
    recipe = recipe_of(name)
    if recipe is not None:
        return recipe
    if name.endswith(SUFFIX):
        raise FedkinError(
            f"model {name!r} was given from Python as a value, which other processes do not have: "
            "set engine='inprocess', or put the class into a module and name it as model="
            f"'module:{name.partition('@')[0]}'"
        )
    if ":" in name:
        return user_class(name)
    if name not in MODELS:
        raise unknown("model", name, [*MODELS, "package.module:Class"])
    return MODELS[name]


def _check_size(name: str, option: str, value: Any, default: Any) -> None:
    """Sizes of our own architectures are whole numbers from 1 on: a layer of none would learn
    nothing, silently.
    """
    size = isinstance(default, int) and not isinstance(default, bool) and ":" not in name
    if size and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise FedkinError(
            f"model.{option} of {name} is a whole number from 1 on, not {value!r}: its "
            f"default is {default}"
        )


def _from_learner(name: str, made: Learner, family: str, inputs: Inputs, frozen: Layers) -> Model:
    if family != "categorical":
        raise FedkinError(
            f"model {name!r} is no torch module: it predicts class probabilities, not family "
            f"{family}"
        )
    if frozen:
        raise FedkinError(f"model {name!r} is no torch module: leave model.frozen out")
    return from_learner(name, made, inputs)


def _from_module(
    name: str,
    module: nn.Module,
    family: str,
    inputs: Inputs,
    buffers: str,
    frozen: frozenset[str],
) -> Model:
    dropped = buffers == "drop"
    return from_module(
        name,
        without_statistics(module) if dropped else module,
        FAMILIES[family],
        inputs,
        keep_buffers=not dropped,
        frozen=frozen,
    )


def _make(name: str, recipe: Callable[..., Any], arguments: dict[str, Any]) -> nn.Module | Learner:
    try:
        with no_exit():
            module: nn.Module | Learner = recipe(**arguments)
    except FedkinError:
        raise
    except Exception as error:  # the user's own constructor may raise anything
        raise FedkinError(f"model {name!r} cannot be built: {named_line_of(error)}") from None
    if not isinstance(module, nn.Module):
        return _learner(name, module)
    if not any(True for _ in module.parameters()):
        raise FedkinError(f"model {name!r} has no parameters to train")
    return module


def _learner(name: str, made: Any) -> Learner:
    """What a function says that it gives, and what it gives, are two things."""
    if not all(callable(getattr(made, verb, None)) for verb in VERBS):
        wanted = f"neither a torch.nn.Module nor a learner, which has {', '.join(VERBS)}"
        raise FedkinError(f"model {name!r} is a {type(made).__name__}: {wanted}")
    learner: Learner = made
    return learner
