"""What the tests of fedkin's own operators have in common."""

import platform
import shutil

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fedkin.runtime.code_cache import compiler_folder
from fedkin.runtime.compile import _library, _loaded
from fedkin.runtime.fuse import fused_updates
from fedkin.runtime.operators import MEASURED, settings, with_own

NEEDED = [
    pytest.mark.skipif(
        platform.machine() not in MEASURED, reason="only x86 has operators of its own"
    ),
    pytest.mark.skipif(
        not (shutil.which("g++") or shutil.which("c++")), reason="compiling needs a C++ compiler"
    ),
    pytest.mark.skipif(
        " " in torch.__file__, reason="torch cannot compile in a folder whose path has a blank"
    ),
]


def operators(graph):
    return [
        node.target._opname
        for node in graph.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
    ]


def with_no_way_out(record, inputs):
    """As a step is made, but that a compiler's complaint is an error."""
    compiler_folder()
    graph = with_own(fused_updates(record()))
    return _library(graph, inputs, settings(graph))


def several(cases, made=with_no_way_out):
    """One compiled function of all cases, which takes seconds for each; what it gives, and what was
    expected.

    A case is a function that gives one tensor, or a tuple of them, and its inputs.
    """
    torch.manual_seed(0)
    cases = list(cases)
    inputs = [leaf for _, *leaves in cases for leaf in leaves]

    def every(*flat):
        rest = iter(flat)
        made = [function(*(next(rest) for _ in leaves)) for function, *leaves in cases]
        return tuple(
            part for found in made for part in (found if isinstance(found, tuple) else (found,))
        )

    graph = make_fx(every)(*inputs)
    run = _loaded(made(lambda: graph, inputs))
    return run(*inputs), every(*inputs)
