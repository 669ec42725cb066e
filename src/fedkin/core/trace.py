"""Trace a step once, compile it where that pays, replay it: the hot loop under every method.

A step is a pure function of tensors for ONE client. ``make_fx`` records its forward, backward and update as one flat
graph; Inductor turns that graph into machine code; both are then called with plain tensors and no autograd.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from filelock import FileLock
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from fedkin.core.errors import first_line
from fedkin.core.model import Model
from fedkin.core.tree import Tree, fill, leaves, named_leaves

Mode = Literal["auto", "always", "trace", "never"]
MODES: tuple[Mode, ...] = ("auto", "always", "trace", "never")

# Compiling a step costs seconds; each replay then saves about 1 µs per recorded operation and more where operations
# are large. Counted, never timed, so that every machine and every worker decides alike: 3 s / 1 µs.
WORTH_COMPILING = 3_000_000

Step = Callable[..., Tree]
Flat = Callable[..., Sequence[Tensor]]


class Runtime:
    """The steps of one host, prepared once per (step, structure, shapes) and replayed.

    ``mode``: "always" compiles, "trace" replays the recorded graph, "never" runs plain autograd each time (the
    reference), "auto" compiles a graph if ``replays`` (how often the whole run will call it, over all hosts) times its
    operations exceeds ``WORTH_COMPILING``. ``said`` collects what the run record should tell, once each.
    """

    def __init__(self, mode: Mode = "trace", replays: int = 0) -> None:
        self.mode = mode
        self.replays = replays
        self.graphs = 0
        self.said: list[str] = []
        self._ready: dict[Any, Flat] = {}

    def prepare(self, step: Step, model: Model, arguments: Tree) -> Flat:
        """``step(model, *arguments)`` as a function of its flat leaves, returning flat leaves."""
        shapes = tuple((path, tuple(leaf.shape), leaf.dtype) for path, leaf in named_leaves(arguments))
        key = (step, model.name, shapes)
        if key not in self._ready:
            with torch.random.fork_rng(devices=[]):  # tracing runs the step once: its dropout must not draw for real
                self._ready[key] = self._build(step, model, arguments)
        return self._ready[key]

    def _build(self, step: Step, model: Model, arguments: Tree) -> Flat:
        def run(*flat: Tensor) -> tuple[Tensor, ...]:
            return tuple(leaves(step(model, *fill(arguments, iter(flat)))))

        if self.mode == "never":
            return _plain(run)
        inputs = [leaf.clone() for leaf in leaves(arguments)]
        try:
            graph = make_fx(run)(*inputs)
        except Exception as error:  # a user's model may branch on values: any error means "not traceable"
            _plain(run)(*inputs)  # a genuine mistake raises here, with its own message
            self._say(f"steps run without tracing: {type(error).__name__}: {first_line(error)}")
            return _plain(run)
        self.graphs += 1
        graph.graph.eliminate_dead_code()
        graph.recompile()
        return self._compiled(graph, inputs) or graph.forward

    def _compiled(self, graph: GraphModule, inputs: list[Tensor]) -> Flat | None:
        operations = sum(node.op == "call_function" for node in graph.graph.nodes)
        wanted = self.mode == "always" or (self.mode == "auto" and self.replays * operations >= WORTH_COMPILING)
        if not wanted:
            return None
        if " " in torch.__file__:  # the compiler's options are not quoted
            self._say("steps replay uncompiled: torch cannot compile where the path of its folder has a blank")
            return None
        try:
            with FileLock(_lock_path()):  # workers compile the same graphs: the first does, the others read its cache
                compiled: Flat = torch._inductor.compile(graph, list[Any](inputs))
                return compiled
        except Exception as error:  # no C++ compiler, no headers, a full disk: slower, not wrong
            self._say(f"steps replay uncompiled: {type(error).__name__}: {first_line(error)}")
            return None

    def _say(self, sentence: str) -> None:
        if sentence not in self.said:
            self.said.append(sentence)


def _plain(run: Flat) -> Flat:
    """Autograd cannot save tensors that were made in inference mode: hand it ordinary ones."""

    def call(*flat: Tensor) -> Sequence[Tensor]:
        with torch.inference_mode(False), torch.no_grad():
            return [leaf.detach() for leaf in run(*(x.clone() if x.is_inference() else x for x in flat))]

    return call


def _lock_path() -> Path:
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    folder = Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR") or cache_dir())
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "fedkin.lock"
