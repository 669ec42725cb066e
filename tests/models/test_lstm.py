"""The written out cells beside torch's own, padding, and many models at once."""

import pytest
import torch
from torch import nn

from fedkin.core.errors import FedkinError
from fedkin.core.model import Inputs
from fedkin.core.rng import Key
from fedkin.models.build import build

TOKENS = Inputs(tokens=True)
CLASSES, LENGTH, WIDTH = 7, 5, 6
OPTIONS = {"embedding": 3, "width": WIDTH, "layers": 2}


def small(seed: int = 1):
    return build("lstm", (LENGTH,), CLASSES, Key(seed), inputs=TOKENS, **OPTIONS)


def windows(rows: int = 4) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randint(0, CLASSES + 1, (rows, LENGTH), generator=draw)


def of_torch(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The logits by torch.nn.LSTM with the same numbers."""
    cells = nn.LSTM(3, WIDTH, num_layers=2, batch_first=True)
    for k in (0, 1):
        for ours, theirs in (("into", "ih"), ("within", "hh")):
            for part in ("weight", "bias"):
                getattr(cells, f"{part}_{theirs}_l{k}").data = w[f"layers.{k}.{ours}.{part}"]
    states, _ = cells(w["symbols.weight"][x])
    return states[:, -1] @ w["logits.weight"].T + w["logits.bias"]


def test_as_torch() -> None:
    model, x = small(), windows()
    torch.testing.assert_close(model.outputs(model.initial, x), of_torch(model.initial, x))


def test_padding_before_a_text_is_nothing() -> None:
    model, x = small(), windows()
    padded = x.clone()
    padded[:, :2] = CLASSES + 1
    torch.testing.assert_close(
        model.outputs(model.initial, padded), of_torch(model.initial, x[:, 2:])
    )


def test_several_models_at_once() -> None:
    """Mapped over models, gradients too, it is one after the other."""
    several, x = [small(seed) for seed in (1, 2)], windows()
    stacked = {name: torch.stack([m.initial[name] for m in several]) for name in several[0].initial}

    def loss(w, x):
        return several[0].outputs(w, x).square().sum()

    slopes = torch.func.vmap(torch.func.grad(loss), in_dims=(0, None))(stacked, x)
    for k, model in enumerate(several):
        for name, value in torch.func.grad(loss)(model.initial, x).items():
            torch.testing.assert_close(slopes[name][k], value)


def test_its_head_is_the_last_layer() -> None:
    head = small().head
    assert head is not None
    assert head.names == ("logits.weight", "logits.bias")
    assert head.size == WIDTH


def test_what_it_cannot_read() -> None:
    with pytest.raises(FedkinError, match=r"reads rows of symbols, the data have shape \[1, 28"):
        build("lstm", (1, 28, 28), 10, Key(0))
    with pytest.raises(FedkinError, match="reads symbols, the data hold numbers: try dnn"):
        build("lstm", (12,), 10, Key(0))
    with pytest.raises(FedkinError, match=r"model\.width of lstm is a whole number from 1 on"):
        build("lstm", (12,), 10, Key(0), inputs=TOKENS, width=0)
