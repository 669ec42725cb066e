"""Frozen parameters beside a run: how they are recognised, and the files that workers map."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.model import Model
from fedkin.core.tree import Params

PAGE = 64  # bytes at whose multiples a tensor begins, as in memory: sums are the same to the bit


def digest(model: Model) -> str:
    """sha256 (hex) of a model's frozen parameters, names and shapes included; "" where it has
    none.

    Args:
        model: Any one.

    Returns:
        64 hexadecimal digits, or "".
    """
    return digest_of(model.frozen)


def digest_of(tensors: Params) -> str:
    """sha256 (hex) of tensors, names and shapes included; "" of none.

    Args:
        tensors: name → tensor; their order does not count.

    Returns:
        64 hexadecimal digits, or "".
    """
    if not tensors:
        return ""
    total = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(_bytes(value).data)
    return total.hexdigest()


def facts_of(models: Mapping[str, Model]) -> dict[str, Any]:
    """What a record keeps of the frozen parameters of each architecture that has some.

    Args:
        models: Every architecture, by name.

    Returns:
        {name: {"parameters": how many numbers, "sha256": their digest}}.
    """
    return {
        name: {"parameters": size_of(model.frozen), "sha256": digest(model)}
        for name, model in models.items()
        if model.frozen
    }


def size_of(parameters: Params) -> int:
    """How many numbers they are.

    Args:
        parameters: name → tensor.

    Returns:
        A number from 0.
    """
    return sum(value.numel() for value in parameters.values())


def same_frozen(where: object, models: Mapping[str, Model], facts: Mapping[str, Any]) -> None:
    """Refuse to go on with other frozen parameters than those that a run began with: its clients'
    parameters are made for these.

    Args:
        where: What messages call the run.
        models: Every architecture, by name.
        facts: What the run's record says of it.

    Raises:
        FedkinError: They are not those that the run began with.
    """
    before, now = facts.get("frozen") or {}, facts_of(models)
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            raise FedkinError(
                f"{where}: the frozen parameters of model {name!r} are not those that this run "
                "began with: put back the weights that its class loads"
            )


def save_frozen(models: Mapping[str, Model], folder: Path) -> None:
    """A file for each model with frozen parameters, to be mapped.

    Args:
        models: Every architecture, by name.
        folder: Where the files go.

    Raises:
        OSError: A file cannot be written.
    """
    for path, model in _files(models, folder):
        places, size = _places(model.frozen)
        with open(path, "wb") as file:
            head = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(file, head)
            begin = file.tell()
            for name, at in places.items():
                file.write(b"\0" * (begin + at - file.tell()))
                file.write(_bytes(model.frozen[name]).data)
            file.write(b"\0" * (begin + size - file.tell()))


def map_frozen(models: Mapping[str, Model], folder: Path) -> None:
    """Give the models' frozen parameters the memory of ``save_frozen``'s files, which all workers
    of a machine share; their own is let go.

    Args:
        models: Every architecture, by name; their tensors are changed.
        folder: Where ``save_frozen`` wrote.

    Raises:
        FedkinError: A file is missing, damaged, or holds other parameters.
    """
    for path, model in _files(models, folder):
        places, size = _places(model.frozen)
        try:
            # copy-on-write: torch may treat it as writable, and no write reaches the file
            values = np.load(path, mmap_mode="c", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise FedkinError(f"{path} is missing or damaged: start the run again") from None
        if values.shape != (size,) or values.dtype != np.uint8:
            raise FedkinError(f"{path} holds other parameters: start the run again")
        whole = torch.from_numpy(values)
        for name, at in places.items():
            own = model.frozen[name]
            part = whole[at : at + own.numel() * own.element_size()]
            own.data = part.view(own.dtype).view(own.shape)


def _files(models: Mapping[str, Model], folder: Path) -> list[tuple[Path, Model]]:
    return [
        (folder / f"frozen-{number}.npy", models[name])
        for number, name in enumerate(sorted(models))
        if models[name].frozen
    ]


def _places(frozen: Params) -> tuple[dict[str, int], int]:
    """Where each parameter begins in the file, and where the last one ends."""
    places, end = {}, 0
    for name, value in frozen.items():
        places[name] = -(-end // PAGE) * PAGE
        end = places[name] + value.numel() * value.element_size()
    return places, end


def _bytes(value: torch.Tensor) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    flat: np.ndarray[Any, np.dtype[np.uint8]] = (
        value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    )
    return flat
