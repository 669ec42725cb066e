"""Placements of a newcomer, and what it is asked."""

import math
from types import SimpleNamespace

import pytest

from fedkin.core.errors import FedkinError
from fedkin.engine.evaluation import Evaluation
from fedkin.newcomers import protocol
from fedkin.newcomers.local import described, joined, standing
from fedkin.newcomers.protocol import LocalNewcomer, placements_of
from tests.newcomers.local_examples import kinds
from tests.newcomers.scripted import AFTER, CLIENT, SEED, UP, Scripted, asks, tried

inf, nan = math.inf, math.nan


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
    assert len(placements_of(server)) == 2
    closed = server._replace(
        method=server.method._replace(newcomer_placements=lambda state, newcomer, info: (state,))
    )
    with pytest.raises(FedkinError, match="no place for a client that was not in the run"):
        placements_of(closed)
    with pytest.raises(FedkinError, match=r"make one \(method cgpfl: broadcast fails: \w*Error"):
        placements_of(closed)
    with pytest.raises(FedkinError, match="wait for the first round"):
        joined(at._replace(round=0), at.parts.held_out.only([0]), None)


@pytest.mark.rotating
@pytest.mark.parametrize("rounds", [2, None])
def test_the_ledger_of_a_newcomer_is_what_crossed(rounds, tmp_path, monkeypatch):
    """Each message once, in its order, as the first copy: nobody else is sent what it is sent.

    With None, nobody is waited for: what the last round of a place sent came to nothing, and yet
    crossed.
    """
    at = kinds("cgpfl", tmp_path)
    crossed, real = [], LocalNewcomer.ask

    def ask(self, ask):
        answers = real(self, ask)
        crossed.append(("down", 0, len(ask.message)))
        crossed.extend(("up", 0, len(one.message)) for one in answers if one.message is not None)
        return answers

    monkeypatch.setattr(LocalNewcomer, "ask", ask)
    monkeypatch.setattr(protocol, "PATIENCE", 0)
    own = at.parts.held_out.only([0])
    found, _ = joined(at, own, rounds)
    assert {one.client for one in found.sent} == {len(at.parts.infos)}
    assert [(one.direction, one.copy, one.bytes) for one in found.sent] == crossed
    kept = described(found, own)
    for way in ("up", "down"):
        of_way = [one for one in found.sent if one.direction == way]
        assert kept["bytes"][way] == sum(one.bytes for one in of_way)
        (kind,) = kept["scalars"][way]  # a model, and nothing beside it
        assert kept["scalars"][way][kind] == sum(one.scalars[kind] for one in of_way)
    assert kept["bytes"]["down"] > kept["bytes"]["up"]
    assert (kept["train"], kept["val"], kept["test"]) == (36, 12, 12)
    assert (kept["place"], kept["places"]) == (found.place, 2)
    sizes = [sum(one.scalars.values()) for one in found.sent]
    assert min(sizes) > 0
    assert all(4 * size < one.bytes for size, one in zip(sizes, found.sent, strict=True))


def test_as_many_rounds_as_were_asked_for() -> None:
    guest = Scripted([5, 0, 4, 0])
    found, keys = tried(guest, 2)
    assert (found.place, found.places, found.rounds, found.chosen) == (0, 1, 2, "given")
    assert asks(guest) == [
        (0, 0, 0, (("local", 8),)),
        (0, 8, 8, (("local", 9),)),
        (0, 9, 9, (("evaluate", 9),)),
        (0, 9, 9, (("evaluate_all", 10),)),
    ]
    assert guest.received == [[0, 0], [0, 1], [0, 2], [0, 2]]
    assert keys == [(SEED, 8), (SEED, 9)]
    assert found.last == guest.asked[-1]
    assert found.notes == {"place": [0, 2], "n": 2}
    assert found.scores["personal"]["test"] == (96, 0.75)
    assert found.measures == {"m": {}}


def test_the_round_of_the_least_validation_loss() -> None:
    guest = Scripted([3, 1, 2, 2])
    found, _ = tried(guest, most=3, finishes=True)
    assert (found.rounds, found.chosen) == (1, "validation")
    assert asks(guest) == [
        (0, 0, 0, (("evaluate", 7), ("local", 8))),
        (0, 8, 8, (("evaluate", 8), ("local", 9))),
        (0, 9, 8, (("evaluate", 9), ("local", 10))),
        (0, 10, 8, (("evaluate", 10),)),
        (0, 8, 8, (("finish", 9), ("evaluate_all", 9))),
    ]
    assert guest.received[-1] == [0, 1]
    sizes = [(one.direction, one.client, one.copy) for one in found.sent]
    assert sizes == [*[("down", CLIENT, 0), ("up", CLIENT, 0)] * 3, *[("down", CLIENT, 0)] * 2]
    assert [one.bytes for one in found.sent if one.direction == "up"] == [len(UP)] * 3
    assert [one.bytes for one in found.sent if one.direction == "down"] == [
        len(one.message) for one in guest.asked
    ]
    assert {one.scalars["parameters"] for one in found.sent} == {2, 3}


def test_five_rounds_without_a_lower_loss_are_enough() -> None:
    guest = Scripted([3, 2, 2, 2.5, 2.5, 2.5, 2.5, 0, 0, 0])
    found, _ = tried(guest)
    assert (found.rounds, len(guest.asked)) == (1, 8)
    late = Scripted([3, 4, 4, 4, 4, 2, 2.5, 2.5, 2.5, 2.5, 0])
    assert tried(late)[0].rounds == 5  # the fifth is looked at


@pytest.mark.parametrize(
    ("losses", "place", "rounds"),
    [
        (([3, 2, 9, 9], [2.5, 1.5, 9, 9], [9, 9, 2, 9]), 1, 1),
        (([2, 3, 3, 3], [2, 2, 2, 2]), 0, 0),  # the first of equals
        (([nan, inf, 4, 5], [9, 8, 7, 6]), 0, 2),
    ],
)
def test_the_best_seat(losses: tuple[list[float], ...], place: int, rounds: int) -> None:
    guest = Scripted(*losses)
    found, _ = tried(guest, most=3)
    assert (found.place, found.rounds, found.chosen) == (place, rounds, "validation")
    assert found.places == len(losses)
    assert guest.received[-1] == [place, rounds]
    assert guest.asked[-1].base == (AFTER + rounds if rounds else 0)


def test_without_validation_samples_training_decides_after_all_rounds() -> None:
    guest = Scripted([1, 1, 5], [9, 9, 4])
    found, _ = tried(guest, most=2, validates=False)
    assert (found.place, found.rounds, found.chosen) == (1, 2, "training")
    looks = [one.steps for one in guest.asked if "evaluate_all" in dict(one.steps)]
    assert looks == [(("evaluate_all", 9),)] * 2 + [(("evaluate_all", 10),)]
    given, _ = tried(Scripted([1, 1, 5], [9, 9, 4]), 1)
    assert (given.place, given.rounds, given.chosen) == (0, 1, "validation")


def test_what_ends_a_join() -> None:
    with pytest.raises(FedkinError, match=r"not finite anywhere: lower train\.lr"):
        tried(Scripted([nan, inf], [inf, nan]), most=1)
    with pytest.raises(FedkinError, match="nothing has been learned yet"):
        tried(Scripted([1, 1]), 1, round=0)
    assert tried(Scripted([1, 1]), 1, round=1)[0].rounds == 1
    broken = Scripted([1, 1])
    answer = SimpleNamespace(error="no memory", record=Evaluation(), message=None)
    broken.ask = lambda ask: [answer]  # type: ignore[method-assign,list-item,return-value]
    with pytest.raises(FedkinError, match="could not do its part: no memory"):
        tried(broken, 1)
