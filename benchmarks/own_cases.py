"""Twenty cases of somebody's own data: ten files made here, whose truth is known, and ten of the
data sets that fedkin names.

Files are written as people have them: tables with numbers, words and gaps, folders of pictures.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SIDE = 8  # pixels of a made picture's side


class Case(NamedTuple):
    """``helps``: whether federating does, where it is known from how the data were made.

    ``write``: puts the file there, of one seed; None for data that have a name. ``options``: of
    ``Experiment``, with ``{path}`` where the file lies.
    """

    name: str
    helps: bool | None
    options: dict[str, Any]
    write: Callable[[Path, int], None] | None = None


def sites(
    path: Path, seed: int, sizes: list[int], weights: Floats, cut: float, steep: float
) -> None:
    """A table of patients: five numbers, one of them with gaps, two columns of words; two outcomes.

    ``weights`` [clients, 8]; ``cut`` is taken from the score; ``steep``: how sure the outcome is.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for place, size in enumerate(sizes):
        x = rng.normal(size=(size, 8))
        unit = weights[place] / np.linalg.norm(weights[place])
        yes = rng.random(size) < 1 / (1 + np.exp(-steep * (x @ unit) + cut))
        frame = pd.DataFrame(x[:, :5], columns=["age", "pressure", "pulse", "dose", "weight"])
        frame["age"] = (58 + 14 * frame["age"]).round()
        frame["pressure"] = (122 + 17 * frame["pressure"]).round()
        frame.loc[rng.random(size) < 0.05, "dose"] = np.nan
        frame["ward"] = np.where(x[:, 5] > 0, "surgery", "medicine")
        frame["smoker"] = np.where(x[:, 6] > 0.5, "yes", "no")
        frame["level"] = np.digitize(x[:, 7], [-1, 0, 1])
        frame.insert(0, "site", f"S{place:02d}")
        parts.append(frame.assign(outcome=np.where(yes, "sick", "well")))
    pd.concat(parts).to_csv(path, index=False)


def sensors(path: Path, seed: int, size: int, weights: Floats, noise: float) -> None:
    """A table of readings: six numbers, and an amount. ``weights`` [clients, 6]."""
    rng = np.random.default_rng(seed)
    parts = []
    for place, own in enumerate(weights):
        x = rng.normal(size=(size, len(own)))
        frame = pd.DataFrame(x, columns=["heat", "wind", "light", "noise", "rain", "load"])
        amount = 40 + 5 * (x @ own + noise * rng.normal(size=size))
        parts.append(frame.assign(sensor=f"n{place}", amount=amount.round(3)))
    pd.concat(parts).to_csv(path, index=False)


def pictures(path: Path, seed: int, clients: int, each: int, renamed: bool) -> None:
    """Grey pictures of three shapes, in folders CLIENT/CLASS; ``renamed``: every client has names
    of its own for them.
    """
    from PIL import Image

    rng = np.random.default_rng(seed)
    shapes = np.zeros((3, SIDE, SIDE))
    shapes[0, 3:5], shapes[1, :, 3:5] = 1, 1
    shapes[2][np.eye(SIDE, dtype=bool)] = 1
    for client in range(clients):
        order = rng.permutation(3) if renamed else np.arange(3)
        for k in range(each):
            kind = int(rng.integers(3))
            moved = np.roll(shapes[kind], rng.integers(-1, 2, 2), (0, 1))
            grey = np.clip(70 + 90 * moved + 55 * rng.normal(size=moved.shape), 0, 255)
            folder = path / f"camera{client:02d}" / "abc"[order[kind]]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(grey.astype(np.uint8)).save(folder / f"{k:03d}.png")


def one(seed: int, clients: int, features: int, groups: int = 1) -> Floats:
    """The same concept for all [clients, features], or opposite ones for two groups."""
    centre = np.random.default_rng(100 + seed).normal(size=features)
    sign = np.where(np.arange(clients) % groups, -1.0, 1.0)
    found: Floats = sign[:, None] * centre
    return found


def own(seed: int, clients: int, features: int) -> Floats:
    """Concepts that have nothing in common."""
    return np.random.default_rng(200 + seed).normal(size=(clients, features))


def uneven(seed: int, clients: int) -> list[int]:
    return [int(n) for n in np.random.default_rng(300 + seed).integers(25, 140, clients)]


def chance(path: Path, seed: int) -> None:
    """Outcomes that no column tells."""
    sites(path, seed, [90] * 18, one(seed, 18, 8), 0.0, 0.0)


TABLE = {"data": "{path}", "client": "site", "label": "outcome"}
READINGS = {"data": "{path}", "client": "sensor", "label": "amount"}
FOLDER = {"data": "{path}/"}
MADE = (
    Case(
        "patients, one concept",
        True,
        TABLE,
        lambda path, s: sites(path, s, uneven(s, 24), one(s, 24, 8), 0.0, 2.5),
    ),
    Case(
        "patients, rare outcome",
        True,
        TABLE,
        lambda path, s: sites(path, s, [72] * 28, one(s, 28, 8), 4.0, 2.5),
    ),
    Case(
        "patients, two opposite groups",
        True,
        TABLE,
        lambda path, s: sites(path, s, [60] * 20, one(s, 20, 8, 2), 0.0, 3.0),
    ),
    Case(
        "readings, one concept",
        True,
        READINGS,
        lambda path, s: sensors(path, s, 40, one(s, 22, 6), 3.0),
    ),
    Case("pictures, one concept", True, FOLDER, lambda path, s: pictures(path, s, 12, 40, False)),
    Case(
        "patients, own concepts",
        False,
        TABLE,
        lambda path, s: sites(path, s, [240] * 12, own(s, 12, 8), 0.0, 4.0),
    ),
    Case("patients, outcomes by chance", False, TABLE, chance),
    Case(
        "patients, 1,500 rows each",
        False,
        TABLE,
        lambda path, s: sites(path, s, [1500] * 8, one(s, 8, 8), 0.0, 2.5),
    ),
    Case(
        "readings, own concepts",
        False,
        READINGS,
        lambda path, s: sensors(path, s, 120, own(s, 14, 6), 1.0),
    ),
    Case("pictures, own names", False, FOLDER, lambda path, s: pictures(path, s, 6, 240, True)),
)


def _named(data: str, split: str, **options: Any) -> dict[str, Any]:
    return {"data": data, "split": split, **options}


FEW = "two_class:low=60,high=240"  # two classes a client, and few samples of them
PACKED = (
    Case("digits, equal shares", None, _named("digits", "iid", clients=20)),
    Case("digits, Dirichlet 0.1", None, _named("digits", "dirichlet:0.1", clients=20)),
    Case("digits, two shards", None, _named("digits", "shards:2", clients=20)),
    Case("MNIST, two classes", None, _named("mnist", FEW, clients=20)),
    Case("Fashion-MNIST, two classes", None, _named("fashion_mnist", FEW, clients=20)),
    Case("CIFAR-10, two classes", None, _named("cifar10", FEW, clients=15)),
    Case("FEMNIST, 20 writers", None, _named("femnist", "natural", clients=20)),
    Case("UCI HAR, 30 subjects", None, _named("har", "natural")),
    Case(
        "PPFL's mixture, 30 clients",
        None,
        _named("synthetic_mixture", "natural", **{"data.clients": 30, "data.dim": 40}),
    ),
    Case(
        "COMET's toy, 9 clients",
        None,
        _named(
            "linear_toy",
            "natural",
            **{"data.sigmas": [0.5] * 9, "model.target": "standard", "train.lr": 0.003},
        ),  # at 0.01 clients alone diverge
    ),
)
CASES = (*MADE, *PACKED)
