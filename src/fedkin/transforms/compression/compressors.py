"""Compressors of a vector: what of it is sent, and what the receiver makes of that.

A compressor packs a vector [d] as a tree of tensors, the bytes that travel, and unpacks it to a
vector [d]. What arrives may come from anybody: places and counts are checked.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fedkin.core.counts import without_rounding_error
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.core.tree import Tree

DRAWN = 53  # bits of the number that places are drawn from: a message takes no larger one
BYTE = 8


class Compressor(NamedTuple):
    """``sizes`` are those of the tensors whose entries the vector [d] holds, in order.

    pack: (vector, sizes, key) → what is sent. unpack: (that, sizes) → vector [d]. like: sizes → a
    tree of the shapes and dtypes that ``pack`` gives. sparse: it leaves entries out, so that only
    an update can be sent, the rest of which follows later.
    """

    pack: Callable[[Tensor, tuple[int, ...], Key], Tree]
    unpack: Callable[[Tree, tuple[int, ...]], Tensor]
    like: Callable[[tuple[int, ...]], Tree]
    sparse: bool = False


def top_k(share: float) -> Compressor:
    """The ⌈share · d⌉ largest entries, with their places.

    Source: Stich, Cordonnier & Jaggi (2018), definition 2.1.
    """

    def pack(vector: Tensor, sizes: tuple[int, ...], key: Key) -> Tree:
        order = vector.abs().sort(descending=True, stable=True).indices
        places = order[: kept(share, len(vector))].sort().values
        return {"values": vector[places].float(), "places": places.to(torch.int32)}

    def unpack(sent: Tree, sizes: tuple[int, ...]) -> Tensor:
        d, places = sum(sizes), sent["places"].long()
        rising = bool((places[1:] > places[:-1]).all())
        if len(places) and not (rising and int(places[0]) >= 0 and int(places[-1]) < d):
            raise FedkinError(f"places of its entries are not among the {d} that there are")
        return torch.zeros(d).index_copy_(0, places, sent["values"])

    def like(sizes: tuple[int, ...]) -> Tree:
        k = kept(share, sum(sizes))
        return {"values": torch.zeros(k), "places": torch.zeros(k, dtype=torch.int32)}

    return Compressor(pack, unpack, like, sparse=True)


def random_k(share: float, scaled: bool) -> Compressor:
    """⌈share · d⌉ entries at places drawn uniformly; the draw is sent in their stead, as a number.

    Args:
        share: Of the entries.
        scaled: Whether they are multiplied by d / k, which makes the result unbiased.

    Source: Stich, Cordonnier & Jaggi (2018), definition 2.1.
    """

    def pack(vector: Tensor, sizes: tuple[int, ...], key: Key) -> Tree:
        draw = key.integer("places") % 2**DRAWN
        places = _drawn(draw, share, len(vector))
        return {"values": vector[places].float(), "draw": draw}

    def unpack(sent: Tree, sizes: tuple[int, ...]) -> Tensor:
        d = sum(sizes)
        factor = d / kept(share, d) if scaled else 1.0
        places = _drawn(abs(sent["draw"]), share, d)
        return torch.zeros(d).index_copy_(0, places, factor * sent["values"])

    return Compressor(
        pack,
        unpack,
        lambda sizes: {"values": torch.zeros(kept(share, sum(sizes))), "draw": 0},
        sparse=True,
    )


def quantizer(bits: int) -> Compressor:
    """Each tensor's entries on 2^bits levels between its least and its largest, rounded up or down
    at random so that the mean is right.

    Source: Alistarh, Grubic, Li, Tomioka & Vojnovic (2017), section 3.1, with a range a tensor in
    place of a norm; Suresh, Yu, Kumar & McMahan (2017), section 2.2.
    """
    levels = 2**bits - 1

    def pack(vector: Tensor, sizes: tuple[int, ...], key: Key) -> Tree:
        drawn = torch.rand(len(vector), generator=key.torch("rounding"), dtype=vector.dtype)
        ranges = torch.stack([_range(part) for part in torch.split(vector, list(sizes))])
        low, step = _spread(ranges, sizes, levels)
        at = torch.where(step > 0, (vector - low) / step, torch.zeros_like(vector))
        codes = (at + drawn).floor().clamp(0, levels).to(torch.uint8)
        return {"codes": packed(codes, bits), "ranges": ranges}

    def unpack(sent: Tree, sizes: tuple[int, ...]) -> Tensor:
        low, step = _spread(sent["ranges"], sizes, levels)
        return (low + step * unpacked(sent["codes"], bits)[: sum(sizes)]).float()

    def like(sizes: tuple[int, ...]) -> Tree:
        codes = torch.zeros(math.ceil(sum(sizes) * bits / BYTE), dtype=torch.uint8)
        return {"codes": codes, "ranges": torch.zeros(len(sizes), 2)}

    return Compressor(pack, unpack, like)


def bfloat16() -> Compressor:
    """Entries with 8 bits of precision in place of 24, rounded to the nearest."""
    return Compressor(
        lambda vector, sizes, key: {"values": vector.to(torch.bfloat16)},
        lambda sent, sizes: sent["values"].float(),
        lambda sizes: {"values": torch.zeros(sum(sizes), dtype=torch.bfloat16)},
    )


def kept(share: float, d: int) -> int:
    """⌈share · d⌉: 1 at least; 0 of 0."""
    return min(d, max(1, math.ceil(without_rounding_error(share * d))))


def packed(codes: Tensor, bits: int) -> Tensor:
    """Codes [d] of so many bits as bytes, the first in the lowest bits."""
    each = BYTE // bits
    padded = torch.nn.functional.pad(codes, (0, -len(codes) % each)).view(-1, each)
    shifts = torch.arange(each, dtype=torch.uint8) * bits
    return (padded << shifts).sum(1).to(torch.uint8)


def unpacked(sent: Tensor, bits: int) -> Tensor:
    """The codes [d, padded to whole bytes] in bytes."""
    shifts = torch.arange(BYTE // bits, dtype=torch.uint8) * bits
    codes: Tensor = (sent.unsqueeze(1) >> shifts) & (2**bits - 1)
    return codes.reshape(-1)


def _drawn(draw: int, share: float, d: int) -> Tensor:
    rng = Key(draw).numpy("places")
    places = rng.choice(d, kept(share, d), replace=False)
    places.sort()
    return torch.from_numpy(places)


def _range(part: Tensor) -> Tensor:
    return torch.stack(torch.aminmax(part)).float() if len(part) else torch.zeros(2)


def _spread(ranges: Tensor, sizes: tuple[int, ...], levels: int) -> tuple[Tensor, Tensor]:
    """Each entry's least level and the distance of two levels, double precision [d]."""
    of = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    low, high = ranges.double().unbind(1)
    return low[of], ((high - low) / levels)[of]
