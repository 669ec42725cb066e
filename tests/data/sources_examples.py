"""What the tests of sources and of its parts have in common."""

from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.sources import load

RNG = np.random.default_rng(0)


def one_sentence(error: pytest.ExceptionInfo[FedkinError], *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    assert "Traceback" not in text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def fails(name: str | Path, dir: Path | None, *words: str, **params: object) -> None:
    with pytest.raises(FedkinError) as error:
        load(str(name), dir, **params)  # type: ignore[arg-type]
    one_sentence(error, *words)


def mnist_arrays(train: int = 7, test: int = 3) -> dict[str, np.ndarray]:
    return {
        "x_train": RNG.integers(0, 256, (train, 28, 28), np.uint8),
        "y_train": RNG.integers(0, 10, train).astype(np.uint8),
        "x_test": RNG.integers(0, 256, (test, 28, 28), np.uint8),
        "y_test": RNG.integers(0, 10, test).astype(np.uint8),
    }
