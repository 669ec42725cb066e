"""What several runs with noise cost together."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.flower.node import cost_of_spec as module
from fedkin.flower.node.cost_of_spec import cost_of_spec
from fedkin.report.privacy_costs import PrivacyCost, costs_in_words, total_cost
from fedkin.runs.spec import parse
from tests.engine.small import content

NOISE = {"noise": 2.0, "clip": 1.0, "delta": 1e-5, "where": "client"}


def private(**privacy):
    return parse({**content("fedavg", run__rounds=2), "privacy": {**NOISE, **privacy}})[0]


@pytest.mark.parametrize("changes", [{"seeded": True}, {"unit": "sample", "where": "server"}])
def test_what_the_noise_alone_does_not_say_has_no_epsilon(changes, monkeypatch):
    monkeypatch.setattr(
        module, "facts_of", lambda spec, again=0, trained=None: {"epsilon": 2.0 + again}
    )
    assert cost_of_spec("7", private()) == PrivacyCost("7", 2.0, 1e-5, "2.0", 2)
    assert cost_of_spec("7", private(), 3) == PrivacyCost("7", 5.0, 1e-5, "2.0", 2, again=3)
    assert cost_of_spec("7", private(**changes)) == PrivacyCost("7", None, 1e-5, "2.0", 2)


def test_without_the_accountant_the_settings_are_said(monkeypatch):
    def missing(spec, again=0, trained=None):
        raise FedkinError("needs the extra privacy")

    monkeypatch.setattr(module, "facts_of", missing)
    one = cost_of_spec("7", private())
    assert (
        costs_in_words([one]) == "1 run with noise: of unknown epsilon noise 2.0, 2 rounds (run 7)"
    )
    assert total_cost([one, PrivacyCost("8", 1.5, 1e-6, "2.0", 2)]) == (1.5, 1e-6)


@pytest.mark.parametrize("where", ["client", "distributed", "server"])
def test_where_it_is_known_who_takes_part_the_larger_epsilon_counts(where):
    """That of other data in the place of the node's: the smaller one is of an update or none."""
    masks = {"secure_aggregation": True} if where == "distributed" else {}
    spec = private(where=where, **masks)
    facts, found = module.facts_of(spec), cost_of_spec("7", spec)
    assert found.replaced == (where != "server")
    assert found.epsilon == facts["epsilon_replaced" if found.replaced else "epsilon"]
    assert (found.epsilon > 2 * facts["epsilon"]) == found.replaced
    said = "for other data in the place of a client's" in costs_in_words([found])
    assert said == found.replaced
