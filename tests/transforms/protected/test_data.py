"""Data whose training samples reach a method through noised gradients alone."""

import pytest
import torch

from fedkin.core.method import ClientInfo
from fedkin.core.protected.noise import SampleNoise
from fedkin.core.protected.sealed import Aligned, Uncovered, taken_up
from fedkin.core.rng import Key, Secret
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.runtime.replay import Runtime
from fedkin.transforms.protected.data import protected, without_labels, without_samples
from tests.methods.federation import architecture, population

SECRET = Secret(bytes(range(32)))
NOISE = SampleNoise(1.0, 2.0, 0.25, SECRET, 1)
INFO = ClientInfo(1, "mlr", 40, torch.tensor([20.0, 5.0, 15.0]), 0, 3)
OWN = LocalData(
    INFO,
    architecture(),
    Key(7, 1, 1),
    population(sizes=(5, 40)),
    Runtime("never"),
    Schedule(8, steps=6),
    secret=SECRET,
)


def sizes(batches):
    return [int((one.weight > 0).sum()) for one in rows(batches)]


def rows(batches):
    blocks = [taken_up(block) for block in batches.blocks()]
    return [type(b)(*(leaf[k] for leaf in b)) for b in blocks for k in range(len(b.y))]


def test_who_looks_at_mini_batches_outside_of_a_scan_is_told() -> None:
    found = protected(OWN, NOISE).batches()
    looks = [
        lambda block: block.x,
        lambda block: list(block),
        lambda block: block[0],
        lambda block: torch.stack([torch.zeros(3), block]),
    ]
    for block in (next(found.blocks()), found.gather(0, 1), found.zip(found).gather(0, 1)[1]):
        for look in looks:
            with pytest.raises(Uncovered, match="look at private samples outside of a scan"):
                look(block)


def test_labels_histogram_and_passes_are_not_covered() -> None:
    data = protected(OWN, NOISE)
    with pytest.raises(Uncovered, match="histogram of their labels, which no noise covers"):
        _ = data.info.histogram
    assert data.info.samples == 40
    with pytest.raises(Uncovered, match="its client's work passes over all training samples"):
        data.whole("train")
    with pytest.raises(Uncovered, match="scores models on training samples"):
        data.score(data.model.initial, "train")
    with pytest.raises(Uncovered, match="ranks models on training samples"):
        data.rank(data.model.initial, "train")
    assert data.rank(data.model.initial, "val") == OWN.rank(OWN.model.initial, "val")
    rank = data.rank(data.model.initial, "val")
    error = OWN.rank_error(OWN.model.initial, "val", rank)
    assert data.rank_error(data.model.initial, "val", rank) == error
    assert sum(len(one.y) for one in data.whole("val")) == 7
    assert data.score(data.model.initial, "val") == OWN.score(OWN.model.initial, "val")


def test_who_takes_the_tuple_apart_finds_no_labels() -> None:
    client, *_, histogram, _, classes = without_labels(INFO)
    assert (client, histogram.tolist(), classes) == (1, [0.0] * 3, 3)


def test_work_without_samples_sees_the_model_and_the_public_set_alone() -> None:
    data = without_samples(OWN)
    assert (data.model, data.key, data.public) == (OWN.model, OWN.key, OWN.public)
    assert data.info.samples == 40
    with pytest.raises(Uncovered, match="look at their samples, which no noise covers"):
        data.whole("val")


def test_every_sample_takes_part_by_itself_whatever_draw_is_asked_for() -> None:
    found = protected(OWN, NOISE).batches("permuted")
    assert found.protected is NOISE
    counts = sizes(found)
    assert len(counts) == 6
    assert len(set(counts)) > 1  # no batch of 8 each: how many there are is chance


def test_two_walks_of_one_purpose_are_drawn_apart() -> None:
    data = protected(OWN, NOISE)
    first, second = (rows(data.batches(purpose="batches")) for _ in "ab")
    assert any(a.x.shape != b.x.shape or not torch.equal(a.x, b.x) for a, b in zip(first, second))
    again = rows(protected(OWN, NOISE).batches())
    assert all(torch.equal(a.x, b.x) for a, b in zip(first, again, strict=True))


def test_what_stands_beside_samples_is_as_private() -> None:
    beside = torch.arange(40.0)[:, None]
    found = protected(OWN, NOISE).batches(beside=beside)
    batch, aligned = taken_up(found.gather(0, 1))
    assert isinstance(aligned, Aligned)
    assert aligned.rows.shape[:2] == batch.y.shape
