"""The data of all clients: one shared table, and for every client the rows of its train, validation
and test split.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.escaping import html_table
from fedkin.data.arrays import Array, Ints, Task
from fedkin.data.tables.encoding import Encoding, from_plain

__all__ = ["SPLITS", "Population", "Split", "write_array"]

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")
TENSORS = ("x", "y", "public", "public_y")


def write_array(path: Path, array: Array) -> None:
    """An array as a .npy file.

    Args:
        path: Ends in .npy.
        array: Of numbers or text, no objects.
    """
    np.save(path, array, allow_pickle=False)


@dataclass(frozen=True, eq=False)
class Population:
    """x: [n, ...] uint8, float32 or tokens, y: [n] int64 (float32 targets for regression), shared
    by all clients.

    train, val, test: one ascending int64 array of rows of x a client, all disjoint. public: [p,
    ...] like x, or None; public_y: its labels where they are known. truth: what the generator
    knows, see ``Partition`` and ``Source``. encoding: how x came from the cells of a table. said:
    what was left out of the data, in sentences. apart: clients that are held out, and of whose rows
    not even the encoding knows. group: what kept rows in one split, "duplicates" or a key of the
    source's truth.
    """

    name: str
    x: torch.Tensor
    y: torch.Tensor
    classes: int
    task: Task
    train: tuple[Ints, ...]
    val: tuple[Ints, ...]
    test: tuple[Ints, ...]
    public: torch.Tensor | None = None
    public_y: torch.Tensor | None = None
    truth: dict[str, Array] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    encoding: Encoding | None = None
    said: tuple[str, ...] = ()
    apart: tuple[int, ...] = ()
    group: str | None = None

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and what was left out."""
        sizes = {part: self.sizes(part) for part in SPLITS}
        rows = [
            ("clients", self.clients),
            ("samples", " × ".join(map(str, self.x.shape))),
            ("labels", self.task if self.task == "regression" else f"{self.classes} classes"),
            *((f"{part} samples a client", f"{n.min()} to {n.max()}") for part, n in sizes.items()),
            *(("left out", sentence) for sentence in self.said),
        ]
        return html_table(f"Population {self.name}", rows)

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.train)

    def rows(self, split: Split) -> tuple[Ints, ...]:
        """The row arrays of one split, one a client.

        Args:
            split: "train", "val" or "test".

        Returns:
            Ascending row numbers of x.

        Raises:
            FedkinError: The split does not exist.
        """
        if split not in SPLITS:
            raise FedkinError(f"unknown split {split!r}: use train, val or test")
        return {"train": self.train, "val": self.val, "test": self.test}[split]

    def part(self, client: int, split: Split) -> tuple[torch.Tensor, torch.Tensor]:
        """One client's x and y of one split (a copy).

        Args:
            client: Its number.
            split: "train", "val" or "test".

        Returns:
            (x [n, …], y [n]).

        Raises:
            FedkinError: The split does not exist.
        """
        rows = torch.from_numpy(self.rows(split)[client])
        return self.x[rows], self.y[rows]

    def sizes(self, split: Split) -> Ints:
        """Samples a client, [clients].

        Args:
            split: "train", "val" or "test".

        Returns:
            [clients] int64: numbers of samples.

        Raises:
            FedkinError: The split does not exist.
        """
        return np.array([len(rows) for rows in self.rows(split)], dtype=np.int64)

    def histogram(self, split: Split) -> Ints:
        """Samples a client and class, [clients, classes]; no columns for regression.

        Args:
            split: "train", "val" or "test".

        Returns:
            [clients, classes] int64: numbers of samples.

        Raises:
            FedkinError: The split does not exist.
        """
        if self.classes == 0:
            return np.zeros((self.clients, 0), dtype=np.int64)
        owner = np.repeat(np.arange(self.clients), self.sizes(split))
        labels = self.y.numpy()[_joined(self.rows(split))]
        flat = np.bincount(owner * self.classes + labels, minlength=self.clients * self.classes)
        return flat.reshape(self.clients, self.classes)

    def digest(self) -> str:
        """SHA-256 (hex) over everything: data, splits, public set, truth, names and who is held
        out, in a fixed order. ``group`` shows in the splits, and ``said`` is no data. It is
        computed anew each time, for NumPy tells nobody that an array was written.

        Returns:
            64 hexadecimal digits.
        """
        total = hashlib.sha256(json.dumps(_facts(self), sort_keys=True).encode())
        for key, array in sorted(_arrays(self).items()):
            total.update(f"{key} {array.dtype.str} {array.shape}".encode())
            total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return total.hexdigest()

    def pooled(self) -> "Population":
        """The same samples, but every client trains on the union of all training rows (one array,
        shared by all).

        Returns:
            A copy; validation and test stay the clients' own.
        """
        union = np.sort(_joined(self.train))
        return replace(self, train=(union,) * self.clients)

    def only(self, clients: Sequence[int]) -> "Population":
        """Some of the clients, numbered anew, with the same table of samples.

        Of ``truth``, what has a row a client.

        Args:
            clients: Their numbers; their order is the new numbering.

        Returns:
            The smaller population.
        """
        rows = {split: tuple(self.rows(split)[client] for client in clients) for split in SPLITS}
        names = tuple(self.names[client] for client in clients) if self.names else ()
        chosen = np.asarray(clients, dtype=np.int64)
        truth = {
            k: v[chosen] if np.shape(v)[:1] == (self.clients,) else v for k, v in self.truth.items()
        }
        return replace(self, **rows, names=names, truth=truth, apart=())  # type: ignore[arg-type]

    def alone(self, client: int, clients: int) -> "Population":
        """The first client at number ``client`` of ``clients``, of whom nobody else has samples
        here.

        Args:
            client: The number that it gets.
            clients: How many there are in all.

        Returns:
            One in which all others are empty.
        """
        nobody = np.empty(0, dtype=np.int64)
        rows = {
            split: tuple(self.rows(split)[0] if k == client else nobody for k in range(clients))
            for split in SPLITS
        }
        names = tuple(map(str, range(clients)))
        return replace(self, **rows, names=names, truth={})  # type: ignore[arg-type]

    def save(self, directory: Path, write: Callable[[Path, Array], None] = write_array) -> None:
        """Writes .npy files and population.json (last, so that an interrupted save is not taken for
        a whole one).

        Args:
            directory: Made if it is not there.
            write: What writes one array.
        """
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "population.json").unlink(missing_ok=True)
        arrays = _arrays(self)
        for key, array in arrays.items():
            write(directory / f"{key}.npy", array)
        facts = _facts(self) | {
            "said": self.said,
            "group": self.group,
            "arrays": {k: [a.dtype.str, list(a.shape)] for k, a in sorted(arrays.items())},
        }
        (directory / "population.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")

    @staticmethod
    def load(directory: Path) -> "Population":
        """Reads what ``save`` wrote. Samples are memory-mapped, so that worker processes share the
        pages.

        The mapping is copy-on-write: torch may treat it as writable, and no write reaches the file.

        Args:
            directory: What ``save`` wrote.

        Returns:
            A population whose samples stay in the file until they are asked for.

        Raises:
            FedkinError: The folder holds none, or a file of it is missing or damaged.
        """
        facts = _read_facts(directory)
        arrays = {key: _read(directory, key, *kind) for key, kind in facts["arrays"].items()}
        public, public_y = (
            torch.from_numpy(arrays[k]) if k in arrays else None for k in ("public", "public_y")
        )
        train, val, test = (_parted(arrays[s], arrays[f"{s}_sizes"]) for s in SPLITS)
        return Population(
            name=facts["name"],
            x=torch.from_numpy(arrays["x"]),
            y=torch.from_numpy(arrays["y"]),
            classes=facts["classes"],
            task=facts["task"],
            names=tuple(facts["names"]),
            class_names=tuple(facts["class_names"]),
            truth={key: arrays[f"truth_{key}"] for key in facts["truth"]},
            train=train,
            val=val,
            test=test,
            public=public,
            public_y=public_y,
            encoding=from_plain(facts["encoding"]) if "encoding" in facts else None,
            said=tuple(facts.get("said", ())),
            apart=tuple(facts.get("apart", ())),
            group=facts.get("group"),
        )


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _parted(joined: Ints, sizes: Ints) -> tuple[Ints, ...]:
    ends = np.cumsum(sizes)
    return tuple(joined[end - size : end] for size, end in zip(sizes, ends))


def _facts(p: Population) -> dict[str, Any]:
    """What is digested and saved. ``apart`` is left out where it is empty, so that digests that are
    on record stay what they were.
    """
    encoding = {} if p.encoding is None else {"encoding": p.encoding.plain()}
    apart = {"apart": p.apart} if p.apart else {}
    return {
        **encoding,
        **apart,
        "name": p.name,
        "classes": p.classes,
        "task": p.task,
        "names": list(p.names),
        "class_names": list(p.class_names),
        "truth": sorted(p.truth),
    }


def _arrays(p: Population) -> dict[str, Array]:
    arrays = {key: getattr(p, key).numpy() for key in TENSORS if getattr(p, key) is not None}
    for split in SPLITS:
        arrays |= {split: _joined(p.rows(split)), f"{split}_sizes": p.sizes(split)}
    return arrays | {f"truth_{key}": np.asarray(value) for key, value in p.truth.items()}


def _read_facts(directory: Path) -> dict[str, Any]:
    path = directory / "population.json"
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise FedkinError(
            f"{directory} holds no saved population (population.json is missing): build it again"
        ) from None
    except ValueError:
        raise FedkinError(f"{path} is damaged: build the population again") from None
    return facts


def _read(directory: Path, key: str, dtype: str, shape: list[int]) -> Array:
    path = directory / f"{key}.npy"
    try:
        array: Array = np.load(
            path, mmap_mode="c" if key in TENSORS and 0 not in shape else None, allow_pickle=False
        )
    except (OSError, ValueError, EOFError):
        raise FedkinError(f"{path} is missing or damaged: build the population again") from None
    if array.dtype.str != dtype or list(array.shape) != shape:
        raise FedkinError(
            f"{path} holds {array.dtype} {array.shape}, not what was saved: build the "
            "population again"
        )
    return array
