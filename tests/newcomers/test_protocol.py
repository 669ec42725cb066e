"""Placements of a newcomer."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.newcomers import protocol
from fedkin.newcomers.local import joined, standing, told
from fedkin.newcomers.protocol import AtHome, seats_of
from tests.newcomers.local_examples import kinds


def test_rounds_are_chosen_by_validation_and_not_by_test(tmp_path):
    at = kinds("comet", tmp_path)
    own = at.parts.held_out.only([0])
    found, _ = joined(at, own, None)
    rows = own.test[0]
    own.y[rows] = (own.y[rows] + 1) % 4  # whatever the test says
    wrong, _ = joined(at, own, None)
    assert (wrong.rounds, wrong.chosen) == (found.rounds, "validation")
    assert wrong.scores["personal"]["val"] == found.scores["personal"]["val"]
    assert wrong.scores["personal"]["test"] != found.scores["personal"]["test"]
    exact, _ = joined(at, own, 2)
    assert (exact.rounds, exact.chosen) == (2, "given")


def test_methods_without_a_place_say_so(tmp_path):
    at = kinds("cgpfl", tmp_path)
    info = at.parts.infos[0]._replace(client=len(at.parts.infos))
    server = standing(at, info, 5)
    assert len(seats_of(server)) == 2
    closed = server._replace(
        method=server.method._replace(newcomer_placements=lambda state, newcomer, info: (state,))
    )
    with pytest.raises(FedkinError, match="no place for a client that was not in the run"):
        seats_of(closed)
    with pytest.raises(FedkinError, match="wait for the first round"):
        joined(at._replace(round=0), at.parts.held_out.only([0]), None)


@pytest.mark.parametrize("rounds", [2, None])
def test_the_ledger_of_a_newcomer_is_what_crossed(rounds, tmp_path, monkeypatch):
    """Each message once, in its order, as the first copy: nobody else is sent what it is sent.

    With None, nobody is waited for: what the last round of a place sent came to nothing, and yet
    crossed.
    """
    at = kinds("cgpfl", tmp_path)
    crossed, real = [], AtHome.ask

    def ask(self, ask):
        answers = real(self, ask)
        crossed.append(("down", 0, len(ask.message)))
        crossed.extend(("up", 0, len(one.message)) for one in answers if one.message is not None)
        return answers

    monkeypatch.setattr(AtHome, "ask", ask)
    monkeypatch.setattr(protocol, "PATIENCE", 0)
    own = at.parts.held_out.only([0])
    found, _ = joined(at, own, rounds)
    assert {one.client for one in found.sent} == {len(at.parts.infos)}
    assert [(one.direction, one.copy, one.bytes) for one in found.sent] == crossed
    kept = told(found, own)
    for way in ("up", "down"):
        of_way = [one for one in found.sent if one.direction == way]
        assert kept["bytes"][way] == sum(one.bytes for one in of_way)
        (kind,) = kept["scalars"][way]  # a model, and nothing beside it
        assert kept["scalars"][way][kind] == sum(one.scalars[kind] for one in of_way)
    assert kept["bytes"]["down"] > kept["bytes"]["up"]
    assert (kept["train"], kept["val"], kept["test"]) == (36, 12, 12)
    assert (kept["place"], kept["places"]) == (found.seat, 2)
    sizes = [sum(one.scalars.values()) for one in found.sent]
    assert min(sizes) > 0
    assert all(4 * size < one.bytes for size, one in zip(sizes, found.sent, strict=True))
