"""What is promised of one row, kind by kind."""

import math
from types import SimpleNamespace

import pytest

from fedkin.audit import kinds
from fedkin.audit.kinds import by_kind, guarantee
from fedkin.setup import sample_privacy
from fedkin.setup.sample_privacy import SampleCosts

FACTS = {"epsilon": 1.5, "delta": 1e-6, "where": "server", "seeded": False}
BY_CLIENTS = {**FACTS, "where": "client", "epsilon_replaced": 3.2}
PROOFS = [{"target": "personal", "lower": 9.0}, {"target": "message", "lower": 0.75}]


def parts(monkeypatch, facts=None, masked=False, costs=None, buffers="local", normed=False):
    def privacy_of(_, again):
        accounted = {name: facts[name] + again for name in facts if name.startswith("epsilon")}
        return facts | accounted

    monkeypatch.setattr(kinds, "privacy_of", privacy_of if facts else lambda _, again: facts)
    return SimpleNamespace(
        federation=SimpleNamespace(masked=masked),
        spec=SimpleNamespace(model=SimpleNamespace(buffers=buffers)),
        infos={0: SimpleNamespace(samples=1000)},
        models={"one": SimpleNamespace(initial={"w": 1, **({"buffer:mean": 2} if normed else {})})},
        costs=costs,
    )


def test_a_row_costs_a_client_that_goes_and_another_that_comes(monkeypatch) -> None:
    found = guarantee(parts(monkeypatch, FACTS), "global")
    assert found == (3.0, pytest.approx((1 + math.exp(1.5)) * 1e-6))


def test_a_row_is_other_data_of_a_client_that_adds_the_noise_itself(monkeypatch) -> None:
    assert guarantee(parts(monkeypatch, BY_CLIENTS), "global") == (3.2, 1e-6)


def test_a_message_is_of_one_round_more(monkeypatch) -> None:
    assert guarantee(parts(monkeypatch, BY_CLIENTS), "message") == (3.2 + 1, 1e-6)


def test_a_message_is_one_participation_more_of_whoever_sends_it(monkeypatch) -> None:
    def steps(costs, delta, interval):
        return max(float(sum(one.times for one in releases)) for releases in costs)

    monkeypatch.setattr(sample_privacy, "largest_epsilon", steps)
    of_samples = {**FACTS, "where": "client", "noise": 1.0, "rounds": 2}
    for participants, promised in ((((0,), (0,)), (8.0, 12.0)), (((), ()), (0.0, 4.0))):
        costs = SampleCosts({0: 0.1, 1: 0.1}, {0: {(1,): 4}, 1: {(1,): 4}}, participants)
        run = parts(monkeypatch, of_samples, costs=costs)
        assert tuple(guarantee(run, target)[0] for target in ("global", "message")) == promised


def test_statistics_that_stay_at_home_are_promised_nothing(monkeypatch) -> None:
    for buffers, epsilon in (("local", None), ("global", 3.2)):
        run = parts(monkeypatch, BY_CLIENTS, buffers=buffers, normed=True)
        assert guarantee(run, "global")[0] == epsilon
        assert guarantee(run, "message")[0] == 3.2 + 1  # none is in it


@pytest.mark.parametrize(
    ("facts", "target"),
    [
        (None, "global"),
        ({**FACTS, "seeded": True}, "global"),
        (BY_CLIENTS, "personal"),
        (FACTS, "message"),
        ({**BY_CLIENTS, "where": "distributed"}, "message"),  # one message has a share of the noise
        ({**FACTS, "epsilon": 7.0}, "global"),  # δ of a row: 0.0011, above 1 / 1000 rows
    ],
)
def test_nothing_is_promised(facts, target, monkeypatch) -> None:
    assert guarantee(parts(monkeypatch, facts), target)[0] is None


def test_the_global_model_is_covered_where_the_server_adds_noise(monkeypatch) -> None:
    assert guarantee(parts(monkeypatch, FACTS), "global")[0] == 3.0


def test_every_kind_that_is_sent_has_a_row_and_so_has_what_goes_beside(monkeypatch) -> None:
    messages = [{"predictions": 1}, {"parameters": 2}]
    rows = {one["kind"]: one for one in by_kind(parts(monkeypatch, BY_CLIENTS), messages, PROOFS)}
    assert list(rows) == ["parameters", "predictions", "scores", "notes", "numbers of samples"]
    assert rows["parameters"]["lower"] == 0.75
    assert rows["predictions"]["lower"] is None  # canaries are not tried there
    assert {rows[kind]["upper"] for kind in ("parameters", "predictions")} == {3.2 + 1}
    assert rows["scores"]["upper"] is None
    assert {one["seen"] for one in rows.values()} == {"each client's"}
    hidden = by_kind(parts(monkeypatch, BY_CLIENTS, masked=True), messages, [])
    assert [one["seen"] for one in hidden] == ["a sum"] * 3 + ["nothing", "each client's"]
    assert hidden[0]["lower"] is None
