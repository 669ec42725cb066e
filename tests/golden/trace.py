"""Golden traces: numbers that other people's public code produced, and how far a method is from
them.

They are kept beside the repository, not in it: in ``$FEDKIN_GOLDEN``, else in ``../shared/golden``
from the main checkout (a linked worktree finds it too). A test is skipped where that folder is not
there; a file of another shape, or without an array that the test reads, fails it.
"""

import os
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.tree import Params, Tree, named_leaves

ROOT = Path(__file__).parents[2]
SOURCES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "sources.toml").read_text("utf-8")
)
SAME = 2e-15  # sums in another order, nothing else


@cache
def folder() -> Path:
    """Where the traces are looked for; it may not exist."""
    if given := os.environ.get("FEDKIN_GOLDEN"):
        return Path(given)
    asked = ["git", "-C", str(ROOT), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    checkout = Path(found.stdout.strip()).parent if found.returncode == 0 else ROOT
    return checkout.parent / "shared" / "golden"


class Trace:
    """One file."""

    def __init__(self, name: str, where: Path | None = None) -> None:
        where = where or folder()
        if not where.is_dir():
            pytest.skip(f"no golden traces in {where}: set FEDKIN_GOLDEN to their folder")
        self.name = name
        with np.load(where / f"{name}.npz", allow_pickle=False) as found:
            self.arrays = {key: found[key] for key in found}
        self.read: set[str] = set()

    def array(self, name: str, *shape: int) -> np.ndarray:
        """An array by name; of this shape, where one is given (−1: any length)."""
        assert name in self.arrays, f"{self.name}.npz has no {name}"
        found = self.arrays[name]
        right = len(found.shape) == len(shape) and all(
            n in (-1, m) for n, m in zip(shape, found.shape, strict=True)
        )
        assert right or not shape, f"{self.name}.npz: {name} is {found.shape}, not {shape}"
        assert found.dtype in (np.float64, np.int64, np.bool_), (
            f"{self.name}.npz: {name} is of {found.dtype}"
        )
        assert np.isfinite(found).all(), f"{self.name}.npz: {name} is not finite"
        self.read.add(name)
        return found

    def number(self, name: str) -> float:
        """A 0-d array."""
        found = self.array(name)
        assert found.shape == (), f"{self.name}.npz: {name} is {found.shape}, not a number"
        return float(found)

    def tree(self, name: str, like: Params, *leading: int) -> Params:
        """``name.*`` as a parameter dict with the shapes of ``like`` after the leading axes."""
        return {
            key: torch.from_numpy(self.array(f"{name}.{key}", *leading, *value.shape))
            for key, value in like.items()
        }

    @property
    def sizes(self) -> list[int]:
        """Training samples of each client."""
        return np.bincount(self.array("client", -1)).tolist()

    def batches(self, name: str, rounds: int) -> np.ndarray:
        """[round, client, step, place]: numbers of rows within the client, −1 where
        there is none.
        """
        found = self.array(name, rounds, len(self.sizes), -1, -1)
        for client, size in enumerate(self.sizes):
            assert ((found[:, client] >= -1) & (found[:, client] < size)).all(), (
                f"{self.name}.npz: rows of {name}"
            )
        return found


class Verdict:
    """How far a method is from a trace: the largest absolute difference of each thing that was
    compared.
    """

    def __init__(self, trace: Trace, record: Callable[[str, object], None], how: str = "") -> None:
        """``how``: with which options, for the certificate."""
        self.trace, self.record, self.how = trace, record, how
        self.errors: dict[str, float] = {}
        self.deviations: dict[str, str] = {}
        self.counts: dict[str, tuple[int, int, str]] = {}
        self.checked: set[str] = set()
        self.left: dict[str, str] = {}

    def compare(self, what: str, ours: Tree, theirs: Tree) -> float:
        """Take note of the largest difference between two trees of one structure."""
        a, b = (dict(named_leaves(tree)) for tree in (ours, theirs))
        assert set(a) == set(b), f"{what}: {sorted(a)} beside {sorted(b)}"
        worst = 0.0
        for path in b:
            x, y = (torch.as_tensor(tree[path]) for tree in (a, b))
            assert x.shape == y.shape, (
                f"{what}: {path} is {tuple(x.shape)}, theirs {tuple(y.shape)}"
            )
            if x.numel():
                worst = max(worst, float((x.to(torch.float64) - y.to(torch.float64)).abs().max()))
        self.errors[what] = max(self.errors.get(what, 0.0), worst)
        return worst

    def agrees(self, *what: str, within: float = SAME) -> None:
        """Everything named is within rounding of the trace; without a name, everything
        compared is.
        """
        for name in what or tuple(self.errors):
            assert self.errors[name] <= within, (
                f"{self.trace.name}: {name} is {self.errors[name]:.2e} apart"
            )
            self.checked.add(name)
        self._tell()

    def deviates(self, what: str, why: str, figure: float) -> None:
        """``what`` is apart by ``figure`` (within a tenth of it), for the reason given."""
        assert self.errors[what] == pytest.approx(figure, rel=0.1), (
            f"{what}: {self.errors[what]:.3e} apart"
        )
        self.deviations[what] = why
        self.checked.add(what)
        self._tell()

    def differs_in(self, what: str, why: str, number: int, of: int) -> None:
        """``number`` of the ``of`` things called ``what`` are not as theirs, for the reason
        given: a count, no distance.
        """
        self.counts[what] = (number, of, why)
        self._tell()

    def leaves(self, name: str, why: str) -> None:
        """Arrays called ``name``, or ``name.*``, are not compared here, for the reason given."""
        known = {array.partition(".")[0] for array in self.trace.arrays}
        assert name in known, f"{self.trace.name}.npz has no {name}"
        assert why, f"{self.trace.name}.npz: why is {name} not compared?"
        self.left[name] = why

    def _tell(self) -> None:
        if self.checked != set(self.errors):
            return  # the last call tells
        unread = sorted(
            name
            for name in set(self.trace.arrays) - self.trace.read
            if name.partition(".")[0] not in self.left
        )
        assert not unread, f"{self.trace.name}.npz: nothing was compared with {', '.join(unread)}"
        source = SOURCES[self.trace.name]
        counted = {"counts": self.counts} if self.counts else {}
        self.record(
            "golden",
            {
                **counted,
                "file": f"{self.trace.name}.npz",
                "how": self.how,
                "source": source["source"],
                "commit": source["commit"],
                "authors": source.get("authors", False),
                "errors": {
                    name: error
                    for name, error in self.errors.items()
                    if name not in self.deviations
                },
                "deviations": {
                    name: [self.errors[name], why] for name, why in self.deviations.items()
                },
            },
        )
