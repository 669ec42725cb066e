"""What [privacy] of clients is accounted with."""

import pytest
import torch
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant

from fedkin.core.errors import FedkinError
from fedkin.core.rng import seeded
from fedkin.engine.model_sources import ModelSources
from fedkin.experiment.run_facts import privacy_of
from fedkin.report.words.run_words import privacy
from fedkin.runs.secret_file import new_secret
from fedkin.runs.spec import parse
from fedkin.setup.accountant import epsilon
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from fedkin.setup.privacy import (
    facts_of,
    is_personal_outside,
    mechanism_of,
    outside_of,
    remarks_of,
    secret_for,
)
from fedkin.transforms.private import clipped
from fedkin.transforms.updates import flattened
from tests.engine.small import content

PRIVACY = {"noise": 1.5, "clip": 0.5, "delta": 1e-5, "where": "distributed", "seeded": True}


def spec(**privacy):
    given = content("fedavg", run__participation=1.0, model__name="dnn")
    asked = {**PRIVACY, "secure_aggregation": True, **privacy}
    return parse({**given, "privacy": {k: v for k, v in asked.items() if v is not None}})[0]


def test_shares_of_all_participants_are_the_noise_that_was_asked_for():
    parts = assemble(spec())
    federation = parts.federation._replace(secret=seeded(1))
    host = host_of(parts._replace(federation=federation), list(parts.infos), None)
    received = parts.method.broadcast(parts.method.server(federation.start), 0)
    base = flattened(received)
    noised, plain = torch.zeros_like(base), assemble(spec(noise=0.01)).method
    total = torch.zeros_like(base)
    for client in parts.infos:
        data = host.data(1, client)
        noised += flattened(parts.method.client_update(received, {}, data)[1]) - base
        total += clipped(flattened(plain.client_update(received, {}, data)[1]) - base, 0.5)
    left = noised - total
    assert float(left.var()) == pytest.approx(0.75**2, rel=5 * (2 / len(left)) ** 0.5)


def test_after_each_time_a_server_was_cut_off_noise_is_other_than_before(tmp_path):
    """What it had asked for is asked for again, and two messages of one noise would differ by what
    noise shall hide.
    """
    new_secret(tmp_path)
    for asked in (spec(), spec(seeded=None)):
        found = [secret_for(asked, tmp_path, again) for again in (0, 1, 2)]
        assert found == [secret_for(asked, tmp_path, again) for again in (0, 1, 2)]
        assert len({one.key for one in found}) == 3
    assert secret_for(spec(), tmp_path) == seeded(3)  # of run.seed


@pytest.mark.parametrize(("masks", "share"), [(True, 2 / 3), ({"threshold": 4}, 1 / 2)])
def test_what_surely_survives_is_accounted(masks, share):
    mechanism = mechanism_of(spec(secure_aggregation=masks))
    library = PLDAccountant().compose(GaussianDpEvent(1.5 * share**0.5), 3).get_epsilon(1e-5)
    assert epsilon(mechanism, 3) == pytest.approx(library, abs=1e-6)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, "distributed"),  # one message has a share of the noise: an audit promises it nothing
        ({"where": "client", "secure_aggregation": None}, "client"),
        ({"where": "server", "secure_aggregation": None}, "server"),
        ({"where": None, "secure_aggregation": None, "unit": "sample"}, "client"),
    ],
)
def test_the_record_says_where_the_noise_is(asked, where):
    parts = assemble(spec(**asked))
    facts = facts_of(parts.spec, parts.costs)
    assert facts is not None
    assert facts["where"] == where


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ({}, 2 / 3),
        ({"secure_aggregation": {"threshold": 4}}, 1 / 2),
        ({"where": "client", "secure_aggregation": None}, 1.0),
    ],
)
def test_where_clients_add_the_noise_epsilon_says_between_which_data(asked, share):
    facts = facts_of(spec(**asked))
    # two data sets of one client are up to two clips apart, and the noise is that of one
    alike = PLDAccountant().compose(GaussianDpEvent(1.5 * share**0.5 / 2), 3).get_epsilon(1e-5)
    assert facts["epsilon_replaced"] == pytest.approx(alike, abs=1e-6)
    assert facts["epsilon_replaced"] > 2 * facts["epsilon"]
    assert "zero-out" in facts["protects"]
    assert f"{facts['epsilon_replaced']:.4g} for other data" in privacy(facts)
    (said,) = remarks_of(facts_of(spec(**asked, seeded=False)))
    assert f"{facts['epsilon_replaced']:.3g} for other data" in said


def test_a_server_that_is_trusted_hides_who_takes_part():
    facts = facts_of(spec(where="server", secure_aggregation=None))
    assert facts["protects"] == "a client, with all its data"
    assert "epsilon_replaced" not in facts


@pytest.mark.parametrize(
    ("asked", "scores"),
    [
        ({"where": "server", "secure_aggregation": None}, "scores"),
        ({"where": "client", "secure_aggregation": None}, "validation and test scores"),
        ({"unit": "sample", "where": None}, "validation and test scores"),
        ({}, "validation and test scores"),
    ],
    ids=["server", "client", "sample", "distributed"],
)
def test_only_scores_that_are_sent_are_named_as_outside(asked, scores):
    assert outside_of(spec(**asked)).startswith(f"{scores}, notes, numbers of samples")


@pytest.mark.parametrize(
    ("privacy", "own", "samples", "outside"),
    [
        ({}, False, False, False),
        ({}, True, False, True),
        ({}, True, True, True),
        ({"unit": "sample"}, True, False, False),  # what is kept is noised with the rest
        ({"unit": "sample"}, True, True, True),
        ({"unit": "sample", "personal": "plain"}, True, False, True),
    ],
)
def test_a_personal_model_of_its_clients_own_rows_is_outside(privacy, own, samples, outside):
    asked = spec(**{"secure_aggregation": None, "where": None, **privacy})
    assert is_personal_outside(asked, ModelSources(own, samples)) == outside


@pytest.mark.parametrize(
    ("method", "outside"),
    [
        ("fedavg", False),
        ("scaffold", False),
        ("finetune", True),
        ("ditto", True),
        ("apfl", True),
    ],
)
@pytest.mark.parametrize("where", ["server", "client"])
def test_epsilon_of_clients_says_so_of_personal_models(method, outside, where):
    asked = {**PRIVACY, "where": where, "seeded": False}
    made = parse({**content(method, run__participation=1.0), "privacy": asked})[0]
    facts = privacy_of(assemble(made))
    assert facts["personal_outside"] == outside
    assert ("personal models (made of their client's own rows)" in facts["outside"]) == outside
    (said,) = remarks_of(facts)
    assert said.endswith(f"; not covered: {facts['outside']}")


@pytest.mark.rotating
def test_a_target_is_met_by_what_survives():
    found = assemble(spec(noise={"epsilon": 4.0, "delta": 1e-5}, delta=None)).spec
    assert 3.98 < epsilon(mechanism_of(found), 3) <= 4.0


@pytest.mark.parametrize("unit", ["client", "sample"])
def test_a_delta_that_is_too_large_is_refused_before_the_accountant_works(unit, monkeypatch):
    def asked(*_: object) -> None:
        raise AssertionError("it takes seconds")

    monkeypatch.setattr("fedkin.setup.noise_calibration.noise_for", asked)
    monkeypatch.setattr("fedkin.setup.build.costs_of", asked)
    where = {"where": "server", "secure_aggregation": None}
    noised = spec(noise={"epsilon": 4.0, "delta": 0.5}, delta=None, unit=unit, **where)
    with pytest.raises(FedkinError, match=r"privacy\.delta is 0\.5, and must be below 1 / \d+ "):
        assemble(noised)


def test_a_share_of_the_noise_without_masks_is_refused():
    with pytest.raises(FedkinError, match="hides nothing without masks"):
        spec(secure_aggregation=None)


@pytest.mark.parametrize("asked", [{"where": "server", "secure_aggregation": None}, {}])
def test_what_is_fitted_to_everybodys_rows_is_named_as_outside(asked):
    parts = assemble(spec(**asked))
    facts = facts_of(parts.spec, parts.costs)
    assert "the scale of columns, pixels and labels where it was fitted" in facts["outside"]
    assert facts["outside"] in privacy(facts)  # whole, in the report's line
    (said,) = remarks_of(facts_of(spec(**{**asked, "seeded": False})))
    assert facts["outside"] in said
