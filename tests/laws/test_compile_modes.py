"""However its steps are run, a method computes the same: plain autograd, the recorded graph, and
compiled code.
"""

import shutil

import numpy as np
import pytest
import torch

from fedkin.core.ops import Batches, scan
from fedkin.core.tree import named_leaves
from fedkin.runtime.replay import Runtime
from tests.laws.small import NAMES, federated, finished, people
from tests.methods.federation import architecture

TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}
PLAIN = {}


def end_of(name, compile, dtype):
    """The experiment after two rounds and its finish."""
    group = people(dtype=dtype)
    return finished(
        federated(name, group=group, kind="dnn", compile=compile, epochs=1, participation=0.7).run(
            2, evaluate=False
        )
    )


def plain(name, dtype):
    if (name, dtype) not in PLAIN:
        PLAIN[name, dtype] = end_of(name, "never", dtype)
    return PLAIN[name, dtype]


def agree(a, b, dtype):
    for one, other in zip(a.moments, b.moments, strict=True):
        for ours, theirs in ((one.state, other.state), (one.own, other.own), (one.up, other.up)):
            ours, theirs = dict(named_leaves(ours)), dict(named_leaves(theirs))
            assert ours.keys() == theirs.keys()
            for path, leaf in theirs.items():
                if leaf is not None:
                    assert np.asarray(ours[path]).dtype == np.asarray(leaf).dtype
                    np.testing.assert_allclose(
                        ours[path], leaf, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
                    )


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_trace(name, dtype):
    """Steps replayed from the recorded graph give what plain autograd gives."""
    traced = end_of(name, "trace", dtype)
    assert traced.runtime.said == []
    assert traced.runtime.graphs >= 1
    agree(traced, plain(name, dtype), dtype)


@pytest.mark.slow  # a minute a method; tests/runtime compiles steps at every change
@pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("c++")), reason="compiling needs a C++ compiler"
)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(
    " " in torch.__file__, reason="torch cannot compile in a folder whose path has a blank"
)
def test_always(name, dtype):
    compiled = end_of(name, "always", dtype)
    assert compiled.runtime.said == []
    agree(compiled, plain(name, dtype), dtype)


@pytest.mark.certifies("law")
@pytest.mark.parametrize("name", NAMES)
def test_states_keep_the_models_precision(name):
    """A float32 model stays float32, in states and in messages (ppfl's Laplacian and shares
    excepted: counts).
    """
    for dtype, kept in ((torch.float32, "float32"), (torch.float64, "float64")):
        for moment in plain(name, dtype).moments:
            for tree in (
                moment.up,
                moment.own,
                {n: v for n, v in moment.state.items() if n not in COUNTS},
            ):
                for path, leaf in named_leaves(tree):
                    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
                        assert leaf.dtype == kept, path


COUNTS = ("laplacian", "sums", "shares")


def _towards_mean(model, w, x):
    return w - 0.5 * (w - x).sum(0) / len(x)


def test_other_shapes_are_traced_anew():
    """len(x) is a constant of a recorded graph: batches of 4 and of 3 rows need two. w = 0 → half
    the mean → …
    """
    runtime = Runtime("trace")
    model = architecture()
    for rows in (4, 3, 4):
        x = torch.arange(rows, dtype=torch.float64).reshape(1, rows, 1)
        batches = Batches(runtime, model, 1, lambda first, last, x=x: x)
        moved = scan(_towards_mean, torch.zeros(1, dtype=torch.float64), batches)
        assert moved.item() == pytest.approx(0.5 * (rows - 1) / 2)
    assert runtime.graphs == 2
