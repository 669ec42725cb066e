"""What the tests of user_files and of its parts have in common."""

from pathlib import Path

import numpy as np
import pytest


def write_pictures(folder: Path, clients: int = 2) -> Path:
    """CLIENT/CLASS/n.png: 4×5 grey pictures whose first pixel counts them."""
    Image = pytest.importorskip("PIL.Image")
    number = 0
    for client in range(clients):
        for label in ("cat", "dog"):
            place = folder / f"phone{client}" / label
            place.mkdir(parents=True)
            for at in range(3):
                pixels = np.full((4, 5), number, dtype=np.uint8)
                Image.fromarray(pixels).save(place / f"{at}.png")
                number += 1
    return folder
