"""A recorded graph as machine code, by Inductor: compiled once a machine, and loaded from its own
file ever after.
"""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from fedkin.runtime.code_cache import compiler_folder, kept, processor
from fedkin.runtime.fuse import fused_updates
from fedkin.runtime.operators import FILES, settings, with_own

Flat = Callable[..., Sequence[Tensor]]
Record = Callable[[], GraphModule]

# With another version of these, the same graph is other code.
MAKERS = ("compile.py", "fuse.py", "replay.py", *FILES)


class Uncompiled(Exception):
    """Why a graph could not be compiled: no compiler, no headers, a full disk. It is slower then,
    not wrong.
    """


def compiled(name: str, record: Record, inputs: Sequence[Tensor]) -> Flat:
    """The function of the graph that ``record`` makes, which is called only where nothing of
    ``name`` is kept.

    What the function is called with must have the shapes, dtypes and strides of ``inputs``.

    Args:
        name: What ``named`` gave of the graph.
        record: Makes the graph.
        inputs: Flat leaves, as the function will be called with.

    Returns:
        A function of flat leaves that returns flat leaves.

    Raises:
        Uncompiled: There is no compiler, or it does not take the graph.
    """
    try:
        if any(leaf.device.type != "cpu" for leaf in inputs):
            return _for_a_device(_without_facts(_fused(record())), list(inputs))
        make = partial(_made, record, inputs)
        path = kept(name, make)
        try:
            return _loaded(path)
        except RuntimeError:  # it lies where nothing may be run from
            return _loaded(make())
    except Uncompiled:
        raise
    except Exception as error:
        raise Uncompiled(f"{type(error).__name__}: {error}") from None


def named(graph: GraphModule, *facts: object) -> str:
    """A name of a graph, equal only for equal graphs and facts, under the same torch, on the same
    kind of CPU.

    Args:
        graph: A recorded step.
        *facts: What else tells its code from other code.

    Returns:
        32 hexadecimal digits.
    """
    whole = hashlib.sha256(repr((_maker(), graph.code, facts)).encode())
    for node in graph.graph.nodes:
        # a constant: the code holds its values
        value = getattr(graph, node.target) if node.op == "get_attr" else None
        like = node.meta.get("val") if value is None else value
        if isinstance(like, Tensor):
            whole.update(
                repr(
                    (node.name, like.dtype, tuple(like.shape), like.stride(), str(like.device))
                ).encode()
            )
        if value is not None:
            whole.update(
                value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            )
    return whole.hexdigest()[:32]


def _made(record: Record, inputs: Sequence[Tensor]) -> Path:
    compiler_folder()
    recorded = record()
    graph = with_own(_fused(recorded))
    try:
        return _library(graph, inputs, settings(graph))
    except Uncompiled:
        raise
    except Exception:
        # a compiler that does not take fedkin's C++: torch's operations are slower, not wrong
        return _library(_fused(recorded), inputs, {})


def _library(graph: GraphModule, inputs: Sequence[Tensor], options: dict[str, Any]) -> Path:
    # torch keeps precompiled headers in the shared temporary folder, whatever is said
    options = {**options, "aot_inductor.precompile_headers": False}
    with warnings.catch_warnings(), torch._inductor.config.patch(options):
        warnings.simplefilter("ignore")  # torch's, about its own
        return Path(str(torch._inductor.aot_compile(_without_facts(graph), tuple(inputs))))


def _loaded(path: Path) -> Flat:
    run = torch._C._aoti.AOTIModelContainerRunnerCpu(str(path), 1).run
    return lambda *flat: run(list(flat))


def _for_a_device(graph: GraphModule, inputs: list[Any]) -> Flat:
    """Not measured, and not kept beyond this process."""
    compiler_folder()
    compiled: Flat = torch._inductor.compile(graph, inputs)
    return compiled


def _fused(graph: GraphModule) -> GraphModule:
    if " " in torch.__file__:  # the compiler's options are not quoted
        raise Uncompiled("torch cannot compile where the path of its folder has a blank")
    return fused_updates(graph)


def _without_facts(graph: GraphModule) -> GraphModule:
    """Each was recorded with fake tensors of its own, which Inductor would not mix with its own."""
    for node in graph.graph.nodes:
        node.meta.clear()
    return graph


@cache
def _maker() -> tuple[str, ...]:
    sources = [Path(__file__).with_name(file).read_bytes() for file in MAKERS]
    return torch.__version__, processor(), hashlib.sha256(b"".join(sources)).hexdigest()
