"""What is promised of one row, kind by kind."""

import math
from types import SimpleNamespace

import pytest

from fedkin.audit import kinds
from fedkin.audit.kinds import by_kind, guarantee

FACTS = {"epsilon": 1.5, "delta": 1e-6, "where": "server", "seeded": False}
BY_CLIENTS = {**FACTS, "where": "client", "epsilon_replaced": 3.2}
PROOFS = [{"target": "personal", "lower": 9.0}, {"target": "message", "lower": 0.75}]


def parts(monkeypatch, facts=None, masked=False, of_samples=False):
    monkeypatch.setattr(kinds, "privacy_of", lambda _: facts)
    privacy = SimpleNamespace(of_samples=of_samples)
    federation = SimpleNamespace(masked=masked)
    spec, infos = SimpleNamespace(privacy=privacy), {0: SimpleNamespace(samples=1000)}
    return SimpleNamespace(federation=federation, spec=spec, infos=infos)


def test_a_row_costs_a_client_that_goes_and_another_that_comes(monkeypatch) -> None:
    found = guarantee(parts(monkeypatch, FACTS), "global")
    assert found == (3.0, pytest.approx((1 + math.exp(1.5)) * 1e-6))


def test_a_row_is_other_data_of_a_client_that_adds_the_noise_itself(monkeypatch) -> None:
    for target in ("message", "global"):
        assert guarantee(parts(monkeypatch, BY_CLIENTS), target) == (3.2, 1e-6)
    of_samples = {**FACTS, "where": "client"}
    assert guarantee(parts(monkeypatch, of_samples, of_samples=True), "message") == (1.5, 1e-6)


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
    assert {rows[kind]["upper"] for kind in ("parameters", "predictions")} == {3.2}
    assert rows["scores"]["upper"] is None
    assert {one["seen"] for one in rows.values()} == {"each client's"}
    hidden = by_kind(parts(monkeypatch, BY_CLIENTS, masked=True), messages, [])
    assert [one["seen"] for one in hidden] == ["a sum"] * 3 + ["nothing", "each client's"]
    assert hidden[0]["lower"] is None
