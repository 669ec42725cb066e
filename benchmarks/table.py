"""How long a large table takes to become a population, and its memory: python -m benchmarks.table
[ROWS] [CLIENTS]
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.sources import load


def table(rows: int, clients: int) -> pd.DataFrame:
    """Six columns of numbers (one with gaps), two of words, a client, a label."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(50, 12, (rows, 6)).round(2), columns=list("abcdef"))
    frame.loc[rng.random(rows) < 0.03, "a"] = np.nan
    frame["ward"] = rng.choice([f"ward {i}" for i in range(12)], rows)
    frame["sex"] = rng.choice(["f", "m"], rows)
    frame["site"] = rng.integers(0, clients, rows)
    return frame.assign(label=(frame["b"] + rng.normal(0, 9, rows) > 50).astype(int))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "rows",
        metavar="ROWS",
        type=int,
        nargs="?",
        default=1_000_000,
        help="of the table (default: %(default)s)",
    )
    parser.add_argument(
        "clients",
        metavar="CLIENTS",
        type=int,
        nargs="?",
        default=1000,
        help="among them (default: %(default)s)",
    )
    given = parser.parse_args()
    measure(given.rows, given.clients)


def measure(rows: int, clients: int) -> None:
    """Write the table in both forms, and print what reading, dividing and encoding it costs."""
    with tempfile.TemporaryDirectory() as folder:
        frame = table(rows, clients)
        for name in ("t.parquet", "t.csv"):
            path = Path(folder) / name
            frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
        del frame
        before = _peak()
        for name in ("t.parquet", "t.csv"):
            began = time.perf_counter()
            source = load(str(Path(folder) / name), client="site")
            read = time.perf_counter()
            population = build(source, "natural", None, Key(0))
            done = time.perf_counter()
            size = population.x.numel() * 4 / 2**20
            owned = (
                sum(
                    rows.nbytes
                    for split in ("train", "val", "test")
                    for rows in population.rows(split)
                )
                / 2**20
            )
            print(
                f"{name}: read {read - began:.1f} s, divided and encoded {done - read:.1f} s",
                end="; ",
            )
            held = f"x {list(population.x.shape)} {size:.0f} MiB, held once"
            print(f"{held}; row numbers of {population.clients} clients {owned:.0f} MiB")
        print(
            f"peak memory {before:.0f} MiB when the files were written, {_peak():.0f} MiB in "
            "the end"
        )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
