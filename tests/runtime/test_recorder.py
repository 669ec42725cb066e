"""Steps are recorded as ``make_fx`` records them, without torch's compiler."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.fx import Node

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import descend, gradient
from fedkin.core.tree import fill, leaves
from fedkin.methods.fedavg import sgd_step
from fedkin.runtime import replay
from fedkin.runtime.recorder import NotRecorded, flat_graph
from fedkin.runtime.replay import Runtime
from tests.runtime.test_replay import over


def of(step, module, rows=6, numbers=5):
    """(a step as a function of flat leaves, such leaves)."""
    torch.manual_seed(0)
    model = from_module("one", module)
    batch = Batch(torch.rand(rows, numbers), torch.arange(rows) % 3, torch.full((rows,), 1 / rows))
    arguments = (model.initial, batch, torch.tensor(0.1))
    return (
        lambda *flat: tuple(leaves(step(model, *fill(arguments, iter(flat))))),
        [leaf.clone() for leaf in leaves(arguments)],
    )


def told(graph):
    """Operations in their order; what each gets, by its place in the graph."""
    place = {node: number for number, node in enumerate(graph.graph.nodes)}

    def plain(value):
        if isinstance(value, Node):
            return "node", place[value]
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return {name: plain(one) for name, one in value.items()} if type(value) is dict else value

    unnamed = ("placeholder", "output", "get_attr")  # whose targets are names of their own
    return [
        (node.op, "" if node.op in unnamed else node.target, plain(node.args), plain(node.kwargs))
        for node in graph.graph.nodes
    ]


def twice(model, w, batch, lr):
    """A step behind a step, as per_fedavg's: a gradient through a gradient."""

    def after(v, batch):
        return model.loss(descend(v, gradient(model.loss)(v, batch), 0.5), batch)

    return descend(w, gradient(after)(w, batch), lr)


def with_constant(model, w, batch, lr):
    """It makes a tensor, writes into it, and takes rows by number."""
    scale = torch.tensor([1.0, 2.0, 3.0])
    scale.add_(1)
    chosen = batch.weight[torch.tensor([4, 4, 1])]
    return {**w, "0.bias": w["0.bias"] * scale[:3].sum() * lr + chosen.sum()}


def in_halves(model, w, batch, lr):
    """An operation with several results, of which one is not used."""
    first, _ = batch.x.split([2, 3], dim=1)
    return {**w, "0.bias": w["0.bias"] + first.sum()}


def rounded(model, w, batch, lr):
    with torch.autocast("cpu", torch.bfloat16):
        return sgd_step(model, w, batch, lr)


def side_by_side(model, w, batch, lr):
    several = {name: torch.stack([value, 2 * value]) for name, value in w.items()}
    each = torch.vmap(lambda v: sgd_step(model, v, batch, lr))(several)
    return {name: value[1] for name, value in each.items()}


DENSE = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Dropout(0.3), nn.Linear(4, 3))
CONVOLVED = nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Conv1d(1, 3, 3), nn.Flatten())
NORMED = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3))


@pytest.mark.parametrize(
    ("step", "module"),
    [
        (sgd_step, DENSE),
        (sgd_step, CONVOLVED),
        (sgd_step, NORMED),
        (twice, DENSE),
        (rounded, DENSE),
        (side_by_side, nn.Sequential(nn.Linear(5, 3))),
        (with_constant, nn.Sequential(nn.Linear(5, 3))),
        (in_halves, nn.Sequential(nn.Linear(5, 3))),
    ],
)
def test_the_same_operations_as_make_fx(step, module):
    run, inputs = of(step, module)
    found, theirs = replay._tidied(flat_graph(run, inputs)), replay._recorded(run, inputs)
    assert told(found) == told(theirs)
    torch.manual_seed(3)
    ours = found(*inputs)
    torch.manual_seed(3)
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs(*inputs), strict=True))


def branching(model, w, batch, lr):
    return w if batch.x.sum() > 0 else sgd_step(model, w, batch, lr)


def failing(model, w, batch, lr):
    return {**w, "0.bias": w["0.bias"] @ w["0.bias"][:2]}


@pytest.mark.parametrize("step", [branching, failing])
def test_what_is_left_to_make_fx(step):
    run, inputs = of(step, nn.Sequential(nn.Linear(5, 3)))
    with pytest.raises(NotRecorded):
        flat_graph(run, inputs)


def test_a_replayed_graph_holds_no_tensors():
    run, inputs = of(sgd_step, DENSE)
    assert not any(node.meta for node in replay._operations(run, inputs).graph.nodes)


@pytest.mark.rotating
def test_a_traced_run_does_not_load_the_compiler():
    """And torch is as it was: what asks for its compiler gets it."""
    script = """
import sys
import torch
from torch import nn
from fedkin.core.model import from_module
from fedkin.runtime.replay import Runtime
from tests.runtime.test_replay import over
torch.manual_seed(0)
found = over(Runtime("trace"), from_module("linear", nn.Linear(5, 3)), 3)
loaded = [name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules]
print(found["weight"].sum().item(), loaded, torch._dynamo.is_compiling.__name__)
"""
    torch.manual_seed(0)
    expected = over(Runtime("never"), from_module("linear", nn.Linear(5, 3)), 3)
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value, rest = done.stdout.strip().split(" ", 1)
    assert float(value) == pytest.approx(expected["weight"].sum().item(), rel=1e-6)
    assert rest == "[] is_compiling"
