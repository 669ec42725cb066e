"""A recorded graph as machine code, by Inductor: compiled once a machine, kept in its cache on disk."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from torch import Tensor
from torch.fx import GraphModule

from fedkin.core.fuse import fused_updates

Flat = Callable[..., Sequence[Tensor]]

# The loop over kernels in C++: 3 to 10 µs less a call than in Python.
WRAPPED = {"cpp_wrapper": True}


class Uncompiled(Exception):
    """Why a graph could not be compiled: no compiler, no headers, a full disk. It is slower then, not wrong."""


def compiled(graph: GraphModule, inputs: Sequence[Tensor]) -> Flat:
    """The graph's function. Its inputs must keep the shapes, dtypes and strides of these. Raises Uncompiled."""
    if " " in torch.__file__:  # the compiler's options are not quoted
        raise Uncompiled("torch cannot compile where the path of its folder has a blank")
    graph = fused_updates(graph)
    for node in graph.graph.nodes:
        node.meta.clear()  # each was recorded with fake tensors of its own, which Inductor would not mix with its own
    try:
        with FileLock(_lock_path()):  # workers compile the same graphs: the first does, the others read its cache
            found: Flat = torch._inductor.compile(graph, list[Any](inputs), options=WRAPPED)
            return found
    except Exception as error:
        raise Uncompiled(f"{type(error).__name__}: {error}") from None


def _lock_path() -> Path:
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    folder = Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR") or cache_dir())
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "fedkin.lock"
