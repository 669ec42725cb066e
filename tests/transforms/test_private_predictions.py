"""Noised predictions, against closed forms."""

import math

import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Secret, seeded
from fedkin.core.tree import flat
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from fedkin.transforms.private_predictions import (
    PredictionNoise,
    keep_predictions_private,
    without_introductions,
)
from fedkin.transforms.setting import Setting
from tests.engine.small import content

SECRET = Secret(bytes(range(32)))
TOLD = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], dtype=torch.float64)
PRIVACY = {"noise": 0.5, "clip": 2.0, "delta": 1e-5, "where": "client", "seeded": True}


@pytest.mark.certifies("prediction_noise", "closed form")
def test_predictions_are_clipped_around_the_uniform_ones():
    away = TOLD - 1 / 3
    found = PredictionNoise(float(away.norm()) / 4, 1e-30)(TOLD, SECRET, 1)
    assert found.tolist() == [pytest.approx(row) for row in (1 / 3 + away / 4).tolist()]
    whole = PredictionNoise(9.0, 1e-30)(TOLD, SECRET, 1)
    assert whole.tolist() == [pytest.approx(row) for row in TOLD.tolist()]


@pytest.mark.certifies("prediction_noise", "closed form")
def test_noise_is_that_of_a_sum_with_its_clip_and_rows_stay_on_the_simplex():
    rows, how = 40_000, PredictionNoise(0.02, 1.5)
    uniform = torch.full((rows, 4), 0.25)
    found = how(uniform, SECRET, 3)
    assert bool((found >= 0).all())
    assert float((found.sum(1) - 1).abs().max()) < 1e-6
    # normalised rows lose the mean of their noise: 3 of 4 dimensions are left
    spread = float((found.double() - 0.25).square().mean()) * 4 / 3
    assert spread == pytest.approx(0.03**2, rel=5 * math.sqrt(2 / (3 * rows)) + 0.01)
    assert torch.equal(found, how(uniform, SECRET, 3))
    assert not bool((found == how(uniform, SECRET, 4)).any(1).all())


def test_predictions_that_are_not_finite_say_nothing():
    broken = torch.where(TOLD > 0.5, math.nan, TOLD)
    found = PredictionNoise(1.0, 1e-30)(broken, SECRET, 1)
    assert found.flatten().tolist() == pytest.approx([1 / 3] * 6)


def made(method):
    parts = assemble(parse({**content(method), "privacy": PRIVACY})[0])
    federation = parts.federation._replace(secret=seeded(1))
    return parts.method, federation, host_of(parts._replace(federation=federation), [0], None)


def setting(host):
    return Setting(1, 1, 1.0, 5, infos=host.infos)


@pytest.mark.parametrize("method", ["ds_fl", "kt_pfl"])
def test_what_leaves_a_client_is_noised(method):
    noised, federation, host = made(method)
    state = noised.server(federation.start)
    data = host.data(1, 0)
    _, sent = noised.client_update(noised.broadcast(state, 0), host.personal_state(0), data)
    far = PredictionNoise(2.0, 0.5)(torch.full_like(sent["predictions"], 0.1), data.secret, 1)
    apart = (sent["predictions"] - far).abs().mean()
    assert float(apart) < 0.2 < float((far - 0.1).abs().mean()) * 10
    assert float((sent["predictions"] - 0.1).abs().mean()) > 0.03


def test_a_client_noises_its_predictions_anew_in_every_round():
    method, _, host = made("ds_fl")
    told = torch.full((60, 10), 0.1)
    steady = method._replace(client_update=lambda *_: ({}, {"predictions": told}))
    noised = keep_predictions_private(steady, setting(host), PredictionNoise(2.0, 0.5))
    for round in (1, 2):
        data = host.data(round, 0)
        _, sent = noised.client_update({}, {}, data)
        expected = PredictionNoise(2.0, 0.5)(told, data.secret, round)
        assert torch.equal(sent["predictions"], expected)


def test_an_introduction_of_untrained_models_is_sent_as_it_is():
    method, _, host = made("comet")
    sent = method.setup_message(host.personal_state(0), host.data(0, 0))
    assert set(sent) == {"predictions"}


def test_an_introduction_tells_nothing_of_what_was_learned_whoever_asks_when():
    """A server that asks for it after a round, which an honest one never does."""
    method, federation, host = made("comet")
    first, data = host.personal_state(0), host.data(0, 0)
    received = method.broadcast(method.server(federation.start), 0)
    learned, _ = method.client_update(received, first, host.data(1, 0))
    assert not torch.equal(flat(learned["parameters"]), flat(first["parameters"]))
    told = [method.setup_message(own, data)["predictions"] for own in (first, learned)]
    assert torch.equal(*told)


def introducing(told):
    """comet, whose clients keep something of their own at first, and introduce themselves by what
    ``told`` makes of it and their data; and how their noise is asked for.
    """
    base, federation, host = made("comet")
    method = base._replace(
        name="telling",
        client=lambda initial, info: {"parameters": initial, "info": info},
        setup_message=lambda own, data: {"predictions": told(own, data)},
    )
    asked = setting(host), PredictionNoise(2.0, 0.5)
    return keep_predictions_private(method, *asked), federation.start, host


def test_a_client_that_begins_with_its_labels_is_refused_before_training():
    method, start, host = introducing(lambda own, data: own["labels"])
    method.check(start, 6)
    labelled = without_introductions(
        method._replace(client=lambda initial, info: {"labels": info.histogram}), setting(host)
    )
    sentence = (
        r"\[privacy\] does not fit the introductions of telling: its clients use the histogram of "
        "their labels, which no noise covers; try ds_fl"
    )
    with pytest.raises(FedkinError, match=sentence):
        labelled.check(start, 6)
    with pytest.raises(FedkinError, match=sentence):
        labelled.setup_message({"labels": torch.ones(10)}, host.data(0, 0))


def test_who_takes_apart_what_a_client_knows_finds_no_labels():
    method, _, host = introducing(lambda own, data: tuple(own["info"])[3])
    assert host.infos[0].histogram.sum() > 0
    sent = method.setup_message(host.personal_state(0), host.data(0, 0))
    assert sent["predictions"].tolist() == [0.0] * 10


@pytest.mark.parametrize(
    "look",
    [
        lambda data: data.batches(),
        lambda data: data.whole("val"),
        lambda data: data.score(data.model.initial, "val"),
        lambda data: data.rank(data.model.initial, "test"),
        lambda data: data.rank_error(data.model.initial, "train", (0.0, 0.0)),
    ],
    ids=["batches", "whole", "score", "rank", "rank_error"],
)
def test_an_introduction_that_looks_at_samples_of_any_split_is_refused(look):
    method, _, host = introducing(lambda own, data: look(data))
    with pytest.raises(FedkinError, match="telling: its clients look at their samples, which no"):
        method.setup_message({}, host.data(0, 0))


@pytest.mark.parametrize("method", ["feddf", "cgpfl"])
def test_parameters_that_are_no_sum_are_refused(method):
    with pytest.raises(FedkinError, match=r"\[privacy\] works on a declared sum"):
        assemble(parse({**content(method), "privacy": PRIVACY})[0])


@pytest.mark.parametrize("where", ["server", "client"])
def test_logits_are_no_probabilities_and_refused(where):
    given = {**content("fedmd"), "privacy": {**PRIVACY, "where": where}}
    with pytest.raises(FedkinError, match=r"clients of fedmd send logits, .*: try ds_fl"):
        assemble(parse(given)[0])


@pytest.mark.parametrize("method", ["comet", "ds_fl", "kt_pfl"])
def test_what_is_noised_are_probabilities(method):
    """A method that sends scores must say so (``sends_scores``), or noise would ruin them."""
    parts = assemble(parse(content(method))[0])
    host = host_of(parts, [0], None)
    received = parts.method.broadcast(parts.method.server(parts.federation.start), 0)
    _, sent = parts.method.client_update(received, host.personal_state(0), host.data(1, 0))
    assert float(sent["predictions"].min()) >= 0
    assert torch.allclose(sent["predictions"].sum(1), torch.ones(len(sent["predictions"])))


def test_shares_of_noise_are_refused():
    """Rows brought back to the simplex no longer add up to all of the noise."""
    given = content("ds_fl")
    given["privacy"] = {**PRIVACY, "where": "distributed", "secure_aggregation": True}
    with pytest.raises(FedkinError, match=r"predictions, .* take where = 'client'"):
        assemble(parse(given)[0])
