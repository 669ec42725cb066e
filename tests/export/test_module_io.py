"""A card says how the tensors of a module give what the run's model gave."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from fedkin import Result
from fedkin.models.small import dnn
from tests.cli.command import fedkin

FEW = ["--engine", "inprocess", "--rounds", "2", "--set", "train.steps=3", "--model", "dnn"]
AFTER = {
    "log_softmax(m)": lambda m, card: m.log_softmax(1),
    "log_sigmoid([-m, m])": lambda m, card: torch.cat([-m, m], 1).sigmoid().log(),
    "offset + scale * m": lambda m, card: card["offset"] + card["scale"] * m,
    "exp(m)": lambda m, card: m.exp(),
}


def by_the_card(card: dict[str, Any], module: nn.Module, x: Tensor) -> Tensor:
    """What somebody without fedkin makes of a file of tensors."""
    of = card["input"]["module"]
    mean, std = (torch.tensor(of[key]).view(1, -1, *[1] * (x.dim() - 2)) for key in ("mean", "std"))
    entering = (x.to(torch.float32) / of["divided_by"] - mean) / std
    after = card["output"]["module"]
    found: Tensor = AFTER[after["y"]](module(entering), after)
    return found


def exported(tmp_path: Path, *arguments: Any) -> tuple[Result, dict[str, Any]]:
    """A run, and the card of its client 0's file of tensors."""
    out = tmp_path / "run"
    for words in (
        ("run", *FEW, "--method", "local", *arguments, "--out", out),
        ("export", out, "--client", "0", "--format", "safetensors"),
    ):
        done = fedkin(*words)
        assert done.exit_code == 0, done.output
    result = Result(out)
    folder = out / "export" / "0"
    return result, json.loads((folder / "card.json").read_text())


def same(result: Result, card: dict[str, Any], outputs: int) -> None:
    x, _ = result.data(0, "train")
    module = dnn(tuple(x.shape[1:]), outputs)
    file = result.folder / "export" / "0" / "model.safetensors"
    module.load_state_dict(load_file(file))
    torch.testing.assert_close(by_the_card(card, module, x), result.personal(0)(x))


def table(tmp_path: Path, counts: bool = False) -> Path:
    """Prices of three shops, far from 0."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, 2))
    price = rng.poisson(3, 90) if counts else 400 + 30 * x.sum(1) + rng.normal(0, 20, 90)
    rows = "".join(
        f"{a},{b},{row % 3},{one}\n" for row, ((a, b), one) in enumerate(zip(x, price, strict=True))
    )
    path = tmp_path / "shops.csv"
    path.write_text("a,b,shop,price\n" + rows)
    return path


@pytest.mark.parametrize("target", ["auto", "none"])
def test_numbers_are_trained_in_another_unit(target: str, tmp_path: Path) -> None:
    given = f"{table(tmp_path)}:client=shop,label=price"
    result, card = exported(
        tmp_path, "--data", given, "--set", f"model.target={target}", "--set", "train.lr=1e-4"
    )
    same(result, card, 1)
    after = card["output"]["module"]
    assert (after["scale"] > 20) == (target == "auto")
    use = card["files"]["model.safetensors"]["use"]
    assert use.endswith(
        f"y = {after['offset']:.9g} + {after['scale']:.9g} * m" if target == "auto" else "y = m"
    )


@pytest.mark.parametrize(
    ("family", "outputs"), [("categorical", 2), ("bernoulli", 1), ("poisson", 1)]
)
def test_outputs_of_every_family(family: str, outputs: int, tmp_path: Path) -> None:
    path = table(tmp_path, counts=True)
    task = "regression" if family == "poisson" else "classification"
    if family != "poisson":
        frame = path.read_text().splitlines()
        two = [f"{line.rsplit(',', 1)[0]},{at % 2}" for at, line in enumerate(frame[1:])]
        path.write_text("\n".join([frame[0], *two]))
    given = f"{path}:client=shop,label=price,task={task}"
    result, card = exported(tmp_path, "--data", given, "--set", f"model.family={family}")
    same(result, card, outputs)


def test_pixels_are_scaled(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 256, (90, 3, 4, 4)).astype(np.uint8)
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(90) % 2)
    given = ["--data", tmp_path / "d.npz", "--clients", "3"]
    scale = ["--set", "data.mean=[0.1,0.2,0.3]", "--set", "data.std=[0.5,0.25,2.0]"]
    result, card = exported(tmp_path, *given, *scale)
    same(result, card, 2)
    assert (
        "takes (x / 255 − [0.1, 0.2, 0.3]) / [0.5, 0.25, 2] (by channel), and"
        in (card["files"]["model.safetensors"]["use"])
    )
