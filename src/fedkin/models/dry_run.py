"""A model before its run: a few samples go through it, so that what is wrong is said at once, and
about the model.

fedkin's own architectures are known. Of a module of the user's own a gradient is taken, too.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parameter import is_lazy

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL
from fedkin.core.model import Batch, Model
from fedkin.core.ops import gradient
from fedkin.core.rng import not_seeded, python_draws
from fedkin.core.system.no_exit import no_exit
from fedkin.core.system.user_code import named_line_of
from fedkin.core.tree import BUFFER, is_buffer
from fedkin.models.head import some_samples
from fedkin.models.small import Shape
from fedkin.runtime.device import CPU
from fedkin.runtime.generators import forked
from fedkin.runtime.recorder import without_compiler

ROWS = 4  # of the batch that a module of the user's own is trained on


def sized(name: str, module: nn.Module, shape: Shape, tokens: bool) -> nn.Module:
    """The module, whose lazy layers (``nn.LazyLinear``) have got their parameters from one batch of
    zeros.

    Args:
        name: What messages call it.
        module: As its constructor made it.
        shape: Of one sample.
        tokens: Whether samples are symbols.

    Returns:
        The same module, with all of its sizes known.

    Raises:
        FedkinError: It does not take such samples, or does not call one of its lazy layers.
    """
    if not _lazy(module):
        return module
    floats = [value.dtype for value in module.parameters() if value.is_floating_point()]
    zeros = torch.zeros(2, *shape, dtype=torch.int64 if tokens else floats[0])
    try:
        with no_exit(), torch.no_grad():
            module.eval()(zeros)
    except Exception as error:  # whatever the user's forward raises
        raise _cannot_take(name, shape, error) from None
    if left := _lazy(module):
        raise FedkinError(
            f"model {name!r} cannot be built: its forward does not call the layer of {left[0]}, "
            "which is lazy and so has no size"
        )
    return module


def _lazy(module: nn.Module) -> list[str]:
    named = [*module.named_parameters(), *module.named_buffers()]
    return [name for name, value in named if is_lazy(value)]


def try_on(model: Model, shape: Shape, classes: int, tokens: bool) -> None:
    """One forward pass of zeros, so that a wrong shape is said before training.

    Args:
        model: Any.
        shape: Of one sample.
        classes: 0 where labels are numbers.
        tokens: Whether samples are symbols.

    Raises:
        FedkinError: It does not take them, or gives something else than a row for each.
    """
    try:
        with no_exit(), torch.no_grad():
            out = model.outputs(
                model.initial, torch.zeros(2, *shape, dtype=torch.int64 if tokens else None)
            )
    except FedkinError:
        raise
    except Exception as error:  # whatever the user's forward raises
        if tokens:
            raise FedkinError(
                f"model {model.name!r} cannot read symbols (text): try transformer_lm"
            ) from None
        raise _cannot_take(model.name, shape, error) from None
    width = classes if model.family.name == CATEGORICAL.name else 1
    if not isinstance(out, torch.Tensor) or out.shape != (2, width):
        result = list(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise FedkinError(
            f"model {model.name!r} must return [batch, {width}], for a batch of 2 it returned "
            f"{result}"
        )


def _cannot_take(name: str, shape: Shape, error: Exception) -> FedkinError:
    reason = named_line_of(error)
    return FedkinError(f"model {name!r} cannot take samples of shape {list(shape)}: {reason}")


def tried_in_training(
    model: Model, module: nn.Module, shape: Shape, classes: int, tokens: bool
) -> Model:
    """The model, of which a gradient can be taken; not padded, if its rows are each other's affair.

    No generator of the run is drawn from.

    Args:
        model: Of a module of the user's own, which has passed ``try_on``.
        module: The one that the model calls.
        shape: Of one sample.
        classes: 0 where labels are numbers.
        tokens: Whether samples are symbols.

    Returns:
        The same model but for ``pads``.

    Raises:
        FedkinError: Its gradient cannot be taken, it draws from generators that nobody seeds, or
            what it writes into a buffer would be lost.
    """
    for parameter, value in model.initial.items():
        if value.is_complex():
            raise FedkinError(
                f"model {model.name!r} cannot be trained: its parameter {parameter!r} is complex "
                f"({value.dtype}): hold its real and imaginary parts as floats and join them in "
                "forward (torch.view_as_complex)"
            )
    x = some_samples(shape, classes, tokens, ROWS)
    others = x[1:].square().remainder(max(classes, 1)) if tokens else 1 - x[1:]
    y = torch.zeros(ROWS, dtype=torch.int64 if model.family.classes else None)
    batch = Batch(x, y, torch.full((ROWS,), 1 / ROWS))
    passes = (model.train_outputs, model.outputs)
    at_first = python_draws()
    try:
        with no_exit(), torch.no_grad():
            slope = _seeded(lambda: gradient(model.loss)(model.initial, batch))
            if not any(value.any() for name, value in slope.items() if not is_buffer(name)):
                _seeded(_has_slope, model, x)
            _seeded(_lasts, model, module, x)
            alone = [_seeded(of, model.initial, x) for of in passes]
            between = python_draws()
            beside = [_seeded(of, model.initial, torch.cat([x[:1], others])) for of in passes]
    except FedkinError:
        raise
    except Exception as error:  # whatever the user's forward raises
        raise FedkinError(
            f"model {model.name!r} cannot be trained, for torch.func.grad cannot go through it: "
            f"{named_line_of(error)}"
        ) from None
    if at_first != between != python_draws():  # twice: once may have been another thread
        raise not_seeded(f"model {model.name!r}")
    apart = all(_close(one[0], other[0]) for one, other in zip(alone, beside, strict=True))
    return model if apart else model.changed(lambda whole: whole._replace(pads=False))


def _has_slope(model: Model, x: Tensor) -> None:
    """Raises FedkinError where no parameter has a share in the outputs that autograd knows of: each
    step would be one of zeros.
    """
    with torch.enable_grad():
        weights = {
            name: value if is_buffer(name) else value.detach().requires_grad_()
            for name, value in model.initial.items()
        }
        if model.train_outputs(weights, x).requires_grad:
            return
    raise FedkinError(
        f"model {model.name!r} cannot be trained: no parameter has a gradient, for its forward "
        "detaches all of them: leave out torch.no_grad() or .detach()"
    )


def _lasts(model: Model, module: nn.Module, x: Tensor) -> None:
    """Raises FedkinError for a buffer that a pass in training mode changes, and whose new value
    nobody keeps.
    """
    before: dict[str, Tensor] = {}
    after: dict[str, Tensor] = {}

    def copied(*_: Any) -> None:
        before.update({name: value.clone() for name, value in module.named_buffers()})

    def seen(*_: Any) -> None:
        after.update(module.named_buffers())

    handles = [module.register_forward_pre_hook(copied), module.register_forward_hook(seen)]
    try:
        model.train_outputs(model.initial, x)
    finally:
        for handle in handles:
            handle.remove()
    counts = _counts_alone(module)
    for name, first in before.items():
        if BUFFER + name in model.initial:
            _keeps_its_form(model.name, name, first, after.get(name))
        elif first.is_floating_point():
            continue  # model.frozen or model.buffers says that it stays
        elif name not in counts and not _same(first, after.get(name)):
            raise FedkinError(
                f"model {model.name!r} cannot be trained: what its forward writes into the buffer "
                f"{name!r} ({first.dtype}) is lost, for floats alone last from step to step: "
                f"{_instead(module, name)}"
            )


def _counts_alone(module: nn.Module) -> set[str]:
    """Buffers of batch norm that nothing is computed from."""
    return {
        f"{name}.num_batches_tracked".removeprefix(".")
        for name, layer in module.named_modules()
        if isinstance(layer, _NormBase) and layer.momentum is not None
    }


def _same(first: Tensor, last: Tensor | None) -> bool:
    return last is not None and first.dtype == last.dtype and torch.equal(first, last)


def _instead(module: nn.Module, name: str) -> str:
    layer = module.get_submodule(name.rpartition(".")[0])
    if isinstance(layer, _NormBase):
        return f"give {type(layer).__name__} a momentum, as 0.1"
    return "make it a buffer of floats"


def _keeps_its_form(model: str, name: str, first: Tensor, last: Tensor | None) -> None:
    if last is None or (last.shape, last.dtype) != (first.shape, first.dtype):
        after = "None" if last is None else f"{last.dtype} {list(last.shape)}"
        raise FedkinError(
            f"model {model!r} cannot be trained: its buffer {name!r} is {first.dtype} "
            f"{list(first.shape)} before a pass and {after} after it: keep its shape and type"
        )


def _seeded(run: Callable[..., Any], *arguments: Any) -> Any:
    """What it gives with the same draws every time."""
    with forked(CPU), without_compiler():
        torch.default_generator.manual_seed(0)
        return run(*arguments)


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)
