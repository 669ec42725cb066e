"""What must hold before anybody trains on a population."""

import numpy as np
import torch

from fedkin.core.errors import FedkinError
from fedkin.data.arrays import Ints, check_named
from fedkin.data.finite import first_not_finite
from fedkin.data.population import Population

TYPES = (torch.uint8, torch.float32)
TOKENS = (torch.int16, torch.int32, torch.int64)


def check_population(p: Population) -> None:
    """One FedkinError for the first fault: shapes, types, NaN, labels, names, splits,
    public set.

    Args:
        p: Of all clients.

    Raises:
        FedkinError: Names the fault, and the client or row where there is one.
    """
    check_named([p.name], "data set")
    check_named(p.names, f"{p.name}: client")
    check_named(p.class_names, f"{p.name}: class")
    _samples(p)
    _splits(p)
    _public(p)


def _samples(p: Population) -> None:
    if p.task not in ("classification", "regression"):
        raise FedkinError(
            f"{p.name}: task={p.task!r} is not known: use 'classification' or 'regression'"
        )
    if p.x.dtype not in (*TYPES, *TOKENS) or len(p.x) == 0:
        raise FedkinError(
            f"{p.name}: x is {p.x.dtype} {tuple(p.x.shape)}: samples are uint8 or float32, or "
            "tokens"
        )
    if p.x.dtype in TOKENS and not 0 <= int(p.x.min()) <= int(p.x.max()) <= p.classes + 1:
        raise FedkinError(
            f"{p.name}: tokens run from {int(p.x.min())} to {int(p.x.max())}: with "
            f"{p.classes} classes they are 0 to "
            f"{p.classes - 1}, then the unknown symbol and padding"
        )
    if p.y.shape != (len(p.x),):
        raise FedkinError(
            f"{p.name}: y has shape {tuple(p.y.shape)} for {len(p.x)} samples: give one label "
            "a sample"
        )
    wanted = torch.int64 if p.task == "classification" else torch.float32
    if p.y.dtype != wanted:
        raise FedkinError(f"{p.name}: y is {p.y.dtype}, but {p.task} needs {wanted}")
    for key, tensor in (("x", p.x), ("y", p.y), ("public", p.public)):
        row = None if tensor is None else first_not_finite(tensor.numpy())
        if row is not None:
            raise FedkinError(f"{p.name}: row {row} of {key} holds NaN or infinity")
    if p.task == "regression":
        return
    if p.classes < 1 or int(p.y.min()) < 0 or int(p.y.max()) >= p.classes:
        raise FedkinError(
            f"{p.name}: labels run from {int(p.y.min())} to {int(p.y.max())}, but there are "
            f"{p.classes} classes: "
            f"number them 0 to classes - 1"
        )
    if p.class_names and len(p.class_names) != p.classes:
        raise FedkinError(
            f"{p.name}: {len(p.class_names)} class names for {p.classes} classes: give one a class"
        )


def _splits(p: Population) -> None:
    if p.clients == 0:
        raise FedkinError(f"{p.name} has no clients")
    if not len(p.train) == len(p.val) == len(p.test) == len(p.names):
        counts = (
            f"{len(p.train)} train, {len(p.val)} val, {len(p.test)} test splits and "
            f"{len(p.names)} names"
        )
        raise FedkinError(f"{p.name}: {counts}: there must be one a client")
    if len(set(p.names)) < p.clients:
        raise FedkinError(f"{p.name}: two clients have the same name: names must differ")
    owner = np.full(len(p.x), -1)
    for split in ("train", "val", "test"):
        sizes = p.sizes(split)
        empty = np.flatnonzero(sizes == 0)
        if len(empty) and (split == "train" or sizes.any()):
            raise FedkinError(
                f"{p.name}: client {p.names[empty[0]]} has no {split} samples ({len(empty)} "
                f"of {p.clients} clients): "
                "ask for fewer clients, or leave such ones out with --set split.empty=drop"
            )
        for k, rows in enumerate(p.rows(split)):
            _owned_once(p, owner, k, rows, split)


def _owned_once(p: Population, owner: Ints, k: int, rows: Ints, split: str) -> None:
    if len(rows) == 0:
        return
    if rows.dtype != np.int64 or rows.min() < 0 or rows.max() >= len(p.x):
        raise FedkinError(
            f"{p.name}: the {split} rows of client {p.names[k]} are not rows 0 to "
            f"{len(p.x) - 1} of x"
        )
    owned = rows[owner[rows] >= 0]
    if len(owned):
        other = p.names[owner[owned[0]]]
        raise FedkinError(
            f"{p.name}: sample {owned[0]} belongs to clients or splits twice ({other} and "
            f"{p.names[k]})"
        )
    owner[rows] = k
    if len(np.unique(rows)) < len(rows):
        raise FedkinError(f"{p.name}: the {split} rows of client {p.names[k]} hold a sample twice")


def _public(p: Population) -> None:
    if p.public is None:
        if p.public_y is not None:
            raise FedkinError(f"{p.name}: there are public labels but no public samples")
        return
    if p.public.shape[1:] != p.x.shape[1:] or p.public.dtype != p.x.dtype or len(p.public) == 0:
        raise FedkinError(
            f"{p.name}: public samples are {p.public.dtype} {tuple(p.public.shape)}, but "
            f"private ones are {p.x.dtype} "
            f"{tuple(p.x.shape)}: they must be alike"
        )
    if p.public_y is None:
        return
    if p.public_y.shape != (len(p.public),) or p.public_y.dtype != p.y.dtype:
        raise FedkinError(
            f"{p.name}: public labels are {p.public_y.dtype} {tuple(p.public_y.shape)}: give "
            "one a sample"
        )
    if (
        p.task == "classification"
        and not 0 <= int(p.public_y.min()) <= int(p.public_y.max()) < p.classes
    ):
        raise FedkinError(
            f"{p.name}: public labels leave 0 to {p.classes - 1}: use labels of the private classes"
        )
