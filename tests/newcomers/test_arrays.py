"""Arrays that come after training get the run's type, and no value becomes another."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population import Population
from fedkin.export.predict import _of_samples, predict
from fedkin.newcomers.arrays import as_in_the_run
from fedkin.newcomers.samples import TableLayout, read_newcomer
from fedkin.runs.spec import DataSection
from tests import awkward

LAYOUT = TableLayout("label", None, {}, (0.6, 0.2, 0.2))


def run_of(x: np.ndarray[Any, Any], classes: int = 3) -> Population:
    return replace(
        awkward.population(), x=torch.from_numpy(x), classes=classes, class_names=(), encoding=None
    )


PIXELS = run_of(np.zeros((2, 1, 2, 2), np.uint8))
BYTES = run_of(np.zeros((2, 4), np.uint8))
NUMBERS = run_of(np.zeros((2, 4), np.float32))
PICTURES = run_of(np.zeros((2, 1, 2, 2), np.float32))
TOKENS = run_of(np.zeros((2, 5), np.int16), classes=300)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.int8, np.float32, np.float64])
def test_what_is_the_same_in_the_runs_type(kind: Any) -> None:
    rows = np.array([[0, 1, 2, 100]], dtype=kind)
    for like, x in ((PIXELS, rows.reshape(1, 1, 2, 2)), (BYTES, rows)):
        found = as_in_the_run(x, like, "x")
        assert (found.dtype, found.ravel().tolist()) == (np.uint8, [0, 1, 2, 100])
    found = as_in_the_run(rows % 2, NUMBERS, "x")
    assert (found.dtype, found.ravel().tolist()) == (np.float32, [0, 1, 0, 0])


@pytest.mark.parametrize(
    ("x", "like"),
    [
        (np.full((1, 1, 2, 2), 0.5), PIXELS),
        (np.ones((1, 1, 2, 2)), PIXELS),  # white: as a byte it would be black
        (np.ones((1, 1, 2, 2), dtype=bool), PIXELS),
        (np.full((1, 4), 256), BYTES),
        (np.full((1, 4), -1), BYTES),
        (np.full((1, 1, 2, 2), 1, np.uint8), PICTURES),
        (np.full((1, 4), 2, np.uint8), NUMBERS),
    ],
)
def test_what_would_be_another_value(x: np.ndarray[Any, Any], like: Population) -> None:
    with pytest.raises(FedkinError, match=rf"x: its samples are {x.dtype} .*, the model takes "):
        as_in_the_run(x, like, "x")


@pytest.mark.parametrize("kind", [np.int16, np.int64, np.float64])
def test_tokens(kind: Any) -> None:
    rows = np.array([[0, 255, 256, 300, 301]], dtype=kind)
    found = as_in_the_run(rows, TOKENS, "x")
    assert (found.dtype, found.tolist()) == (np.int16, rows.tolist())
    for wrong in (rows + 1, rows - 1):
        with pytest.raises(
            FedkinError, match="the model takes tokens: whole numbers from 0 to 301"
        ):
            as_in_the_run(wrong, TOKENS, "x")
    with pytest.raises(FedkinError, match="tokens: whole numbers"):
        as_in_the_run(rows + 0.5, TOKENS, "x")


def seen_by(like: Population) -> tuple[Any, list[Tensor]]:
    """A model that keeps what it is given."""
    given: list[Tensor] = []

    def personal(x: Tensor) -> Tensor:
        given.append(x)
        return torch.zeros(len(x), like.classes)

    return SimpleNamespace(population=like, data=DataSection(), personal=personal), given


def test_predictions_and_newcomers_take_them(tmp_path: Path) -> None:
    rows = np.tile(np.array([[0, 255, 256, 300, 301]]), (6, 1))
    np.savez(tmp_path / "x.npz", x=rows, y=np.array([0, 1, 2] * 2))
    one, given = seen_by(TOKENS)
    predict(one, tmp_path / "x.npz")
    _of_samples(one, rows)
    assert [(x.dtype, x.tolist()) for x in given] == [(torch.int16, rows.tolist())] * 2
    own = read_newcomer(tmp_path / "x.npz", TOKENS, LAYOUT, Key(0))
    assert (own.x.dtype, own.x.tolist()) == (torch.int16, rows.tolist())


def test_arrays_in_the_unit_of_floats_are_no_bytes() -> None:
    one, _ = seen_by(PIXELS)
    with pytest.raises(FedkinError, match=r"its samples are float32 .*whole numbers from 0 to 255"):
        _of_samples(one, torch.rand(3, 1, 2, 2))
