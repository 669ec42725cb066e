"""The gradient of DP-SGD: that of each private sample is clipped, and noise is added.

Source: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar & Zhang: Deep learning with differential
privacy, 2016, Algorithm 1; the batch size in the denominator is the expected one.
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fedkin.core.model import Batch
from fedkin.core.protected.layers import Found, Layer, biased, linear_layers
from fedkin.core.protected.sealed import Draws, Sealed, Uncovered
from fedkin.core.tree import Params, is_buffer, leaves


class _Rows(NamedTuple):
    """Gradients of samples, along a first axis.

    written: of parameters, one by one, [batch, …]. slopes: in what leaves each layer, [batch, out],
    and entering: what enters it, [batch, in]; both by the names of the layers' weights. fixed: the
    slope of terms that hold no sample.
    """

    written: Params
    slopes: Params
    entering: Params
    fixed: Params


def private_gradient(function: Callable[..., Tensor], w: Params, rest: Sequence[Any]) -> Params:
    """The gradient at w as DP-SGD gives it: Σ_s weight_s clip(g_s) + noise, and the slope of what
    depends on no sample.

    ``function`` is a sum of a sample's losses, each times its weight, and of terms without samples
    (a proximal one, a public set's); g_s is the slope of a sample's loss, and the other terms are
    neither clipped nor noised. One more row, of weight 0, tells them apart.

    Args:
        function: (w, *rest) → a 0-d tensor.
        w: Parameters.
        rest: Its other arguments; one Batch among them is Sealed, with the rows beside it.

    Returns:
        The gradient, like w.
    """
    batch, draws = _batch_of(rest)
    if draws.sought and any(isinstance(one, Sealed) and one.home for one in rest):
        return {name: math.nan * value for name, value in w.items()}
    if draws.sought:
        shapes = {name: tuple(value.shape) for name, value in w.items() if not is_buffer(name)}
        draws.taken.append((next(s.place for s in rest if _is_batch(s)), shapes))
        return _marked(w, rest)
    real = (batch.weight > 0).to(batch.weight.dtype)
    data = [batch.x, batch.y, real, *[one.content for one in rest if _is_rows(one)]]
    found = _layers_of(function, w, rest, data)
    rows = _rows(function, w, rest, data, found)
    share = batch.weight * _factors(rows, found.layers, draws.clip)
    noise = draws.noise()
    total = {
        name: torch.tensordot(share, _finite(each), 1) + rows.fixed[name] + noise[name]
        for name, each in rows.written.items()
    }
    for layer in found.layers:
        weighed = _finite(share[:, None] * rows.slopes[layer.weight])
        total[layer.weight] = torch.addmm(
            noise[layer.weight], weighed.T, _finite(rows.entering[layer.weight])
        )
        if layer.bias is not None:
            total[layer.bias] = weighed.sum(0) + noise[layer.bias]
    if found.beside:
        for layer in found.layers:
            total |= {name: total[name] + rows.fixed[name] for name in layer.names}
    return {name: total[name] for name in w}


def _marked(w: Params, rest: Sequence[Any]) -> Params:
    """Zeros like w; no numbers where w or another argument has some that is none."""
    known = [leaf for part in (w, *rest) if not isinstance(part, Sealed) for leaf in leaves(part)]
    mark = sum(0 * leaf.double().sum() for leaf in known if isinstance(leaf, Tensor))
    return {name: 0 * value + torch.as_tensor(mark).to(value.dtype) for name, value in w.items()}


def _rows(
    function: Callable[..., Tensor],
    w: Params,
    rest: Sequence[Any],
    data: Sequence[Tensor],
    found: Found,
) -> _Rows:
    ghosts = {name for layer in found.layers for name in layer.names}
    written = {name: value for name, value in w.items() if name not in ghosts}
    biases = {layer.weight: _bias(layer, w) for layer in found.layers}

    def of_row(written: Params, biases: Params, *row: Tensor) -> tuple[Tensor, Params]:
        own = {**w, **written}
        with biased(found.layers, own, w, biases) as entering:
            value = function(own, *_opened(rest, row))
        return value, {name: entering[name].flatten() for name in biases}

    if written:
        data = [_and_blank(part) for part in data]
    (each, slopes), entering = torch.vmap(
        torch.func.grad(of_row, argnums=(0, 1), has_aux=True),
        in_dims=(None, None, *[0] * len(data)),
        randomness="different",
    )(written, biases, *data)
    fixed = _beside(function, w, rest, data, found) if found.beside else {}
    if written:
        fixed |= {name: rows[-1] for name, rows in each.items()}
        each = {name: rows[:-1] - fixed[name] for name, rows in each.items()}
        slopes = {name: rows[:-1] for name, rows in slopes.items()}
        entering = {name: rows[:-1] for name, rows in entering.items()}
    return _Rows(each, slopes, entering, fixed)


def _bias(layer: Layer, w: Params) -> Tensor:
    weight = w[layer.weight]
    return weight.new_zeros(weight.shape[0]) if layer.bias is None else w[layer.bias]


def _layers_of(
    function: Callable[..., Tensor], w: Params, rest: Sequence[Any], data: Sequence[Tensor]
) -> Found:
    """The layers of a pass of one sample, of weight 0 or more."""
    if any(is_buffer(name) for name in w):
        return Found((), beside=False)
    own = {name: value.detach() for name, value in w.items()}
    one = [part.detach()[:1] for part in data]
    known = [leaf for part in rest if isinstance(part, Tensor | dict) for leaf in leaves(part)]
    with torch.no_grad():
        opened = _opened(rest, [part[0] for part in one], one)
        return linear_layers(lambda w, them: function(w, *them), own, one, opened, known)


def _beside(
    function: Callable[..., Tensor],
    w: Params,
    rest: Sequence[Any],
    data: Sequence[Tensor],
    found: Found,
) -> Params:
    """The slope, in the weights of layers, of terms that hold no sample."""
    names = [name for layer in found.layers for name in layer.names]
    blank = [torch.zeros_like(part[0]) for part in data]
    biases = {layer.weight: _bias(layer, w).detach() for layer in found.layers}

    def of_nobody(own: Params) -> Tensor:
        own = {**w, **own}
        with biased(found.layers, own, w, biases):
            return function(own, *_opened(rest, blank))

    slope: Params = torch.func.grad(of_nobody)({name: w[name] for name in names})
    return slope


def _opened(
    rest: Sequence[Any], row: Sequence[Tensor], whole: Sequence[Tensor] | None = None
) -> list[Any]:
    """The arguments with one sample in the place of what is sealed: x, y, weight, rows beside it.

    whole: the same with its first axis, where it is there already.
    """
    x, y, weight, *beside = [part[None] for part in row] if whole is None else whole
    others = iter(beside)
    return [
        Batch(x, y, weight) if _is_batch(one) else next(others) if _is_rows(one) else one
        for one in rest
    ]


def _factors(rows: _Rows, layers: Sequence[Layer], clip: float) -> Tensor:
    """min(1, clip / ‖g_s‖) of each sample [batch], over all weights; 0 where it is not finite."""
    squares = [each.flatten(1).square().sum(1) for each in rows.written.values()]
    for layer in layers:
        entering = rows.entering[layer.weight].square().sum(1)
        beside = entering if layer.bias is None else entering + 1.0
        squares.append(rows.slopes[layer.weight].square().sum(1) * beside)
    squared = reduce(torch.add, squares)
    factors = (clip * squared.rsqrt()).clamp(max=1.0)  # a norm of 0 has factor 1
    return torch.where(squared < math.inf, factors, 0.0)


def _finite(rows: Tensor) -> Tensor:
    return torch.nan_to_num(rows, 0.0, 0.0, 0.0)


def _batch_of(rest: Sequence[Any]) -> tuple[Batch, Draws]:
    found = [one for one in rest if _is_batch(one)]
    if len(found) != 1:
        raise Uncovered("one of its gradients is of several private mini-batches at once")
    return found[0].content, found[0].draws


def _is_batch(one: Any) -> bool:
    return isinstance(one, Sealed) and isinstance(one.content, Batch)


def _is_rows(one: Any) -> bool:
    return isinstance(one, Sealed) and not isinstance(one.content, Batch)


def _and_blank(rows: Tensor) -> Tensor:
    return torch.cat([rows, torch.zeros_like(rows[:1])])
