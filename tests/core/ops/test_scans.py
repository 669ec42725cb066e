"""``scan`` over a model with frozen parameters: they are inputs of the step, one copy for all."""

import torch

from fedkin.core.model import Batch
from fedkin.core.ops import Batches, over_frozen, scan
from fedkin.core.rng import Key
from fedkin.core.tree import leaves
from fedkin.engine.vmap.batcher import VmapBatcher
from fedkin.methods.fedavg import sgd_step
from fedkin.models.build import build
from fedkin.runtime.replay import Runtime


def model(seed=1):
    return build("dnn", (1, 3, 5), 3, Key(seed), hidden=4, frozen="body")


def batches(runtime, model, seed=0):
    drawn = torch.Generator().manual_seed(seed)
    x = torch.rand(6, 4, 1, 3, 5, generator=drawn)
    y = torch.arange(24).remainder(3).view(6, 4)
    weight = torch.full((6, 4), 0.25)
    return Batches(runtime, model, 6, lambda a, b: Batch(x[a:b], y[a:b], weight[a:b]))


def test_one_graph_serves_other_values():
    runtime, ours = Runtime("trace"), model()
    other = ours.holding({name: value * -1.5 for name, value in ours.frozen.items()})
    start = ours.initial
    first = scan(sgd_step, start, batches(runtime, ours), 0.1)
    second = scan(sgd_step, start, batches(runtime, other), 0.1)
    assert runtime.graphs == 1
    for found, at in ((first, ours), (second, other)):
        plain = scan(sgd_step, start, batches(Runtime("never"), at), 0.1)
        torch.testing.assert_close(found, plain)
    assert not torch.allclose(first["3.weight"], second["3.weight"])


class Watched:
    """A Scanner that keeps the constants it is given."""

    said: tuple[str, ...] = ()

    def __init__(self):
        self.constants = []

    def scan(self, step, model, carry, blocks, constants):
        self.constants.append(constants)
        return carry


def test_nothing_is_copied():
    watched, ours = Watched(), model()
    scan(sgd_step, ours.initial, batches(watched, ours), 0.1)
    (rate, frozen), *_ = watched.constants
    assert float(rate) == 0.1
    assert all(frozen[name] is value for name, value in ours.frozen.items())


def test_scans_side_by_side_share_them():
    runtime, ours = Runtime("trace"), model()
    widths = []

    def watched(step, model, carry, blocks, constants):
        widths.extend(leaf.dim() for leaf in leaves(constants[-1]))
        return Runtime.scan(runtime, step, model, carry, blocks, constants)

    runtime.scan = watched
    together = VmapBatcher(runtime)

    def task(seed):
        return lambda: scan(sgd_step, ours.initial, batches(together, ours, seed), 0.1)

    found = together.run([task(0), task(1), task(2)])
    assert widths == [2, 1]  # a matrix and a row, no axis of clients
    for seed, one in enumerate(found):
        alone = scan(sgd_step, ours.initial, batches(Runtime("trace"), ours, seed), 0.1)
        torch.testing.assert_close(one, alone)


def test_one_step_is_one_object():
    assert over_frozen(sgd_step) is over_frozen(sgd_step)
    assert over_frozen(sgd_step).__qualname__ == "sgd_step"


def test_a_model_without_any_is_scanned_as_it_is():
    watched = Watched()
    whole = build("dnn", (1, 3, 5), 3, Key(1), hidden=4)
    scan(sgd_step, whole.initial, batches(watched, whole), 0.1)
    assert [len(constants) for constants in watched.constants] == [1]
