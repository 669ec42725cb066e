"""Clipped and noised gradients of samples, against closed forms."""

import math

import numpy as np
import pytest
import torch

from fedkin.core.model import Batch, from_module
from fedkin.core.ops import Batches, descend, gradient, scan, scan_several
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Aligned, Draws, Uncovered, sealed
from fedkin.core.rng import Secret
from fedkin.data.batching import poisson
from fedkin.runtime.replay import Runtime

SECRET = Secret(bytes(range(32)))
X = torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.3, 0.4], [0.0, 0.0, 7.0], [9.0, 9.0, 9.0]])
ROWS = Batch(X, torch.zeros(4, dtype=torch.int64), torch.tensor([0.5, 0.5, 0.5, 0.0]))
W = {"w": torch.tensor([1.0, -2.0, 0.5])}
SILENT = ({"w": torch.zeros(3)},)


def along(w, batch, anchor):
    """A sample's slope is x_s; the pull to the anchor is of no sample."""
    return (batch.weight * (batch.x @ w["w"])).sum() + (w["w"] - anchor).square().sum() / 2


@pytest.mark.certifies("sample_noise", "closed form")
def test_each_samples_slope_is_clipped_and_what_is_of_no_sample_is_not():
    anchor = torch.tensor([-99.0, 0.0, 0.0])
    batch = sealed(ROWS, Draws(2.5, SILENT))
    found = gradient(along)(W, batch, anchor)["w"]
    expected = 0.5 * (X[0] / 2 + X[1] + X[2] * 2.5 / 7) + (W["w"] - anchor)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


def test_noise_is_added_once_and_padding_counts_for_nothing():
    noise = ({"w": torch.tensor([1.0, 2.0, 3.0])},)
    nobody = ROWS._replace(weight=torch.zeros(4))
    found = gradient(along)(W, sealed(nobody, Draws(2.5, noise)), W["w"])["w"]
    assert found.tolist() == pytest.approx([1.0, 2.0, 3.0], abs=1e-6)


def test_a_sample_without_a_finite_slope_is_nothing():
    broken = ROWS._replace(x=torch.cat([X[:1] * math.inf, X[1:]]))
    found = gradient(along)(W, sealed(broken, Draws(9.0, SILENT)), W["w"])["w"]
    expected = 0.5 * (X[1] + X[2])
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.mark.parametrize(
    "opened",
    [
        lambda it: it.x,
        lambda it: [*it],
        lambda it: it[:, 0],
        lambda it: torch.square(it),
        lambda it: gradient(lambda w, pair: pair[0].x.sum())(W, (it,)),
        lambda it: gradient(lambda w, a, b: w["w"].sum())(W, it, it),
    ],
)
def test_private_samples_are_opened_by_nothing_but_one_gradient(opened):
    with pytest.raises(Uncovered):
        opened(sealed(ROWS, Draws(1.0, SILENT)))


def protecting(noise=0.0, clip=math.inf):
    return SampleNoise(clip, noise, 1 / 3, SECRET, 5)


def small_model():
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    return from_module("small", torch.nn.Sequential(*layers))


def walked(protected, beside=False, mode="trace", chunk=64):
    """Five steps of a proximal loss with Poisson batches, with or without protection."""
    model, rng = small_model(), np.random.default_rng(3)
    x = torch.from_numpy(rng.normal(size=(11, 3)).astype(np.float32))
    y = torch.from_numpy(rng.integers(0, 2, 11))
    own = torch.from_numpy(rng.random(11).astype(np.float32))
    plan = poisson(11, 3, rng.random((5, 11)))

    def gather(a, b):
        index = plan.index[a:b]
        batch = Batch(x[index], y[index], plan.weight[a:b])
        return (batch, Aligned(own[index]) if protected else own[index]) if beside else batch

    batches = Batches(Runtime(mode), model, 5, gather, chunk, protected=protected)
    step = beside_step if beside else plain_step
    return scan(step, model.initial, batches, model.initial, 0.3)


def proximal(w, model, batch, anchor, told=None):
    scaled = batch if told is None else batch._replace(weight=batch.weight * told)
    pull = torch.stack([(w[name] - anchor[name]).square().sum() for name in w]).sum()
    return model.loss(w, scaled) + 2 * pull


def plain_step(model, w, batch, anchor, lr):
    return descend(w, gradient(proximal)(w, model, batch, anchor), lr)


def beside_step(model, w, pair, anchor, lr):
    batch, told = pair
    return descend(w, gradient(proximal)(w, model, batch, anchor, told), lr)


@pytest.mark.certifies("sample_noise", "law")
@pytest.mark.parametrize("beside", [False, True])
def test_without_clip_and_noise_it_is_plain_sgd(beside):
    plain, found = walked(None, beside), walked(protecting(), beside)
    moved = max(float((plain[name] - small_model().initial[name]).abs().max()) for name in plain)
    assert moved > 0.02
    for name in plain:
        torch.testing.assert_close(found[name], plain[name], atol=2e-6, rtol=0)


@pytest.mark.parametrize("changed", [{"mode": "never"}, {"chunk": 2}])
def test_noised_walks_are_alike_however_they_are_made(changed):
    first, second = walked(protecting(0.7, 0.5)), walked(protecting(0.7, 0.5), **changed)
    for name in first:
        torch.testing.assert_close(second[name], first[name], atol=2e-6, rtol=0)
    other = walked(protecting(0.7, 0.25))
    assert any(not torch.allclose(first[name], other[name], atol=1e-3) for name in first)


@pytest.mark.certifies("sample_noise", "closed form")
def test_noise_has_the_variance_that_was_asked_for():
    n = 100_000
    taken = [(1, {"a": (n,)}), (1, {"b": (n // 2, 2)})]
    made = SampleNoise(2.0, 0.75, 1 / 40, SECRET, 3)
    first, second = made.drawn(1, range(1), taken, torch.float32)
    assert second["b"].shape == (1, n // 2, 2)
    both = torch.cat([first["a"].flatten(), second["b"].flatten()]).double() * 40 / 1.5
    assert float(both.mean()) == pytest.approx(0, abs=5 / math.sqrt(2 * n))
    assert float(both.var()) == pytest.approx(1, abs=5 * math.sqrt(1 / n))
    other = float((first["a"][0] * second["b"].flatten()).double().mean()) * (40 / 1.5) ** 2
    assert other == pytest.approx(0, abs=5 / math.sqrt(n))


def test_every_step_walk_and_round_has_noise_of_its_own_and_has_it_again():
    taken = [(1, {"a": (4,)})]
    made = SampleNoise(1.0, 1.0, 1.0, SECRET, 3)
    both = made.drawn(1, range(2), taken, torch.float64)[0]["a"]
    first, second = (made.drawn(1, range(k, k + 1), taken, both.dtype)[0]["a"] for k in range(2))
    assert torch.equal(both, torch.cat([first, second]))
    assert not bool((first == second).any())
    later = SampleNoise(1.0, 1.0, 1.0, SECRET, 4)
    for other in (
        made.drawn(2, range(1), taken, both.dtype),
        later.drawn(1, range(1), taken, both.dtype),
    ):
        assert not bool((other[0]["a"] == first).any())


def test_steps_are_counted_by_how_often_each_mini_batch_is_used():
    noise = protecting()
    model = small_model()

    def step(model, w, pair):
        one, other = pair
        for batch in (one, other, other):
            w = descend(w, gradient(model.loss)(w, batch), 0.1)
        return w

    rows = Batch(*(leaf[None].expand(6, *leaf.shape) for leaf in ROWS))
    batches = Batches(Runtime("never"), model, 6, lambda a, b: Batch(*(x[a:b] for x in rows)))
    pairs = batches._replace(protected=noise).zip(batches)
    scan(step, model.initial, pairs)
    assert noise.spent == {(1, 2): 6}
    with pytest.raises(Uncovered, match="several times through the same mini-batches"):
        scan_several(step, model.initial, pairs, [[], []])


def test_poisson_batches_hold_each_sample_by_itself():
    n, steps = 7, 4000
    drawn = np.random.default_rng(0).random((steps, n))
    plan = poisson(n, 3, drawn)
    real = plan.weight > 0
    assert plan.weight[real].unique().tolist() == pytest.approx([1 / 3])
    assert real.sum(1).tolist() == (drawn <= 3 / 7).sum(1).tolist()
    for step in range(0, steps, 97):
        assert (
            plan.index[step][real[step]].tolist() == np.flatnonzero(drawn[step] <= 3 / 7).tolist()
        )
    assert int(plan.index[~real].abs().sum()) == 0
    assert (plan.index < n).all()
    everybody = poisson(n, 50, drawn[:5])
    assert (everybody.weight > 0).sum(1).tolist() == [n] * 5
    assert everybody.weight.sum(1).tolist() == pytest.approx([1.0] * 5)
