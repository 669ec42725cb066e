"""The gradient of DP-SGD: that of each private sample is clipped, and noise is added.

Source: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar & Zhang: Deep learning with differential
privacy, 2016, Algorithm 1; the batch size in the denominator is the expected one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fedkin.core.model import Batch
from fedkin.core.protected.sealed import Draws, Sealed, Uncovered
from fedkin.core.tree import Params, is_buffer


def private_slope(function: Callable[..., Tensor], w: Params, rest: Sequence[Any]) -> Params:
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
    if draws.sought:
        shapes = {name: tuple(value.shape) for name, value in w.items() if not is_buffer(name)}
        draws.taken.append((next(s.place for s in rest if _is_batch(s)), shapes))
        return w
    beside = [_and_blank(one.content) for one in rest if _is_rows(one)]
    real = _and_zero((batch.weight > 0).to(batch.weight.dtype))

    def of_row(w: Params, x: Tensor, y: Tensor, weight: Tensor, *own: Tensor) -> Tensor:
        row, others = Batch(x[None], y[None], weight[None]), iter(own)
        opened = [
            row if _is_batch(one) else next(others)[None] if _is_rows(one) else one for one in rest
        ]
        return function(w, *opened)

    each: Params = torch.vmap(
        torch.func.grad(of_row),
        in_dims=(None, *[0] * (3 + len(beside))),
        randomness="different",
    )(w, _and_blank(batch.x), _and_blank(batch.y), real, *beside)
    fixed = {name: rows[-1] for name, rows in each.items()}
    own = {name: rows[:-1] - fixed[name] for name, rows in each.items()}
    share = batch.weight * _factors(own, draws.clip)
    noise = draws.noise()
    return {
        name: torch.tensordot(share, _finite(rows), 1) + fixed[name] + noise[name]
        for name, rows in own.items()
    }


def _factors(each: Params, clip: float) -> Tensor:
    """min(1, clip / ‖g_s‖) of each sample [batch], over all weights; 0 where it is not finite."""
    norms = torch.stack([rows.flatten(1).square().sum(1) for rows in each.values()]).sum(0).sqrt()
    factors = (clip / norms.clamp_min(torch.finfo(norms.dtype).tiny)).clamp(max=1.0)
    return torch.where(torch.isfinite(norms), factors, 0.0)


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


def _and_zero(weights: Tensor) -> Tensor:
    return torch.cat([weights, torch.zeros_like(weights[:1])])
