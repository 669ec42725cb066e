"""What must hold before training: every fault is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.data.public import Public
from fedkin.data.validation import check_population
from tests.data.population_examples import make

GOOD = make(public=Public(20, labeled=True))


def changed(tensor: torch.Tensor | None, row: int, value: float) -> torch.Tensor:
    assert tensor is not None
    copy = tensor.clone()
    copy[row] = value
    return copy


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"x": GOOD.x.double()}, "uint8 or float32"),
    ({"x": changed(GOOD.x.float(), 7, float("nan"))}, "row 7 of x holds NaN"),
    ({"y": GOOD.y[:-1]}, "y has shape (599,) for 600 samples"),
    ({"y": GOOD.y.int()}, "y is torch.int32"),
    ({"y": changed(GOOD.y, 3, 5)}, "labels run from 0 to 5, but there are 5 classes"),
    ({"y": changed(GOOD.y, 3, -1)}, "labels run from -1"),
    ({"classes": 0}, "there are 0 classes"),
    ({"task": "ranking"}, "task='ranking'"),
    ({"class_names": ("a",)}, "1 class names for 5 classes"),
    ({"train": (), "val": (), "test": (), "names": ()}, "has no clients"),
    ({"names": GOOD.names[1:]}, "9 names"),
    ({"names": ("a",) * 10}, "same name"),
    ({"name": "M\udcfcller"}, r"data set 'M\udcfcller' is no UTF-8 text: rename"),
    ({"names": ("M\udcfcller", *GOOD.names[1:])}, r"client 'M\udcfcller' is no UTF-8 text"),
    ({"class_names": ("\ud800", *"bcde")}, r"class '\ud800' is no UTF-8 text"),
    ({"train": (GOOD.train[0][:0], *GOOD.train[1:])}, "client 0 has no train samples"),
    ({"test": (*GOOD.test[:9], GOOD.test[9][:0])}, "client 9 has no test samples"),
    (
        {"train": (GOOD.train[0] + 599, *GOOD.train[1:])},
        "train rows of client 0 are not rows 0 to 599",
    ),
    ({"train": (GOOD.test[4], *GOOD.train[1:])}, "twice"),
    ({"train": (np.repeat(GOOD.train[0], 2), *GOOD.train[1:])}, "hold a sample twice"),
    ({"public": GOOD.x[:5, :, :3]}, "they must be alike"),
    ({"public": GOOD.x[:5].float()}, "they must be alike"),
    ({"public": None}, "public labels but no public samples"),
    ({"public_y": changed(GOOD.public_y, 0, 5)}, "public labels leave 0 to 4"),
    ({"public_y": torch.zeros(3, dtype=torch.int64)}, "public labels are torch.int64 (3,)"),
]


@pytest.mark.parametrize(("change", "words"), FAULTS)
def test_check_names_each_fault(change: dict[str, Any], words: str) -> None:
    check_population(GOOD)
    with pytest.raises(FedkinError) as error:
        check_population(replace(GOOD, **change))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_one_split_may_be_empty_for_everybody() -> None:
    check_population(make(fractions=(0.75, 0.0, 0.25)))
    check_population(make(fractions=(1.0, 0.0, 0.0)))
