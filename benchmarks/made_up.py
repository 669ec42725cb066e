"""Made-up files of the shapes of CIFAR-100 and Stack Overflow, to time presets whose data are not
at hand.

python -m benchmarks.made_up DIR      then: fedkin reproduce NAME --data-dir DIR (values do not
change the time)

Their accuracies mean nothing. How much a user of Stack Overflow wrote is a guess (100 posts of 15
words).
"""

import argparse
from pathlib import Path

import numpy as np

USERS, POSTS, WORDS, VOCABULARY = 1000, 100, 15, 12_000


def cifar100(folder: Path) -> None:
    """60,000 pictures of 100 classes, no more like each other than chance."""
    draw = np.random.default_rng(0)
    x = np.tile(draw.integers(0, 256, (1000, 32, 32, 3), np.uint8), (60, 1, 1, 1))
    y = draw.integers(0, 100, len(x)).astype(np.uint8)
    parts = {
        "x_train": x[:50_000],
        "y_train": y[:50_000],
        "x_test": x[50_000:],
        "y_test": y[50_000:],
    }
    np.savez_compressed(folder / "cifar100.npz", **parts)


def stackoverflow(folder: Path) -> None:
    """Posts of random words, frequent ones more often."""
    import h5py

    draw = np.random.default_rng(0)
    with h5py.File(folder / "stackoverflow_train.h5", "w") as file:
        for user in range(USERS):
            words = np.minimum(draw.zipf(1.3, (POSTS, WORDS)), VOCABULARY)
            posts = [" ".join(f"w{word}" for word in post).encode() for post in words]
            file[f"examples/{user:06d}/tokens"] = np.array(posts, dtype=object).astype("S")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    cifar100(folder)
    stackoverflow(folder)


if __name__ == "__main__":
    main()
