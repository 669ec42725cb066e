"""What claims are judged by: numbers of a run, by client where the run has them so."""

import pytest

from fedkin.report.records import opened
from fedkin.report.scores import scores
from fedkin.reproduce.claim_numbers import NUMBERS, WHOLE, _united, numbers
from fedkin.reproduce.measures import MEASURES
from tests.awkward import SHUFFLED, record
from tests.report.collaboration_examples import noted


@pytest.fixture
def folder(tmp_path):
    return record(tmp_path / "run")


def test_accuracies_are_of_the_last_round_and_early_ones_of_half_of_them(folder) -> None:
    with opened(folder) as run:
        last, half = (
            {run.name(k): 100 * a for k, (_, a) in scores(run, at, "personal").items() if a}
            for at in (4, 2)
        )
    assert numbers(folder, "accuracy") == last
    assert numbers(folder, "early accuracy") == half
    assert last != half
    assert set(last) <= {member.name for member in SHUFFLED}


def test_numbers_of_the_whole_run_have_no_client(folder) -> None:
    assert numbers(folder, "rounds") == {WHOLE: 3.0}
    assert numbers(folder, "scalars").keys() == {WHOLE}
    assert 0 < numbers(folder, "server share")[WHOLE] < 1
    assert numbers(folder, "newcomers") == {}
    assert numbers(folder, "distance to its truth") == {}  # makes no run


def test_what_a_measure_of_the_whole_run_raises_is_no_damage_of_its_record(
    folder, monkeypatch
) -> None:
    def fails(*given):
        raise ValueError("the data are gone")

    monkeypatch.setitem(MEASURES, "recovery", ("recovery", fails))
    with pytest.raises(ValueError, match=r"^the data are gone$"):
        numbers(folder, "recovery")


def test_clients_that_join_later_with_all_their_labels(tmp_path) -> None:
    def one(client, asked, accuracy):
        scored = {"personal": {"test": {"accuracy": accuracy}}}
        counts = {"train": 8, "val": 2, "test": 10, "rounds": 3}
        return {"client": client, "asked": asked, **counts, "scores": scored}

    each = [one("a", 5, 0.1), one("a", None, 0.5), one("b", None, 0.25), one("c", None, None)]
    folder = record(tmp_path / "run", newcomers=each)
    assert numbers(folder, "newcomers") == {"a": 50.0, "b": 25.0}


def test_notes_are_read_by_client(tmp_path) -> None:
    notes = [(1, 0, "teacher_round", 1), (2, 0, "teacher_round", 2), (2, 1, "teacher_round", 1)]
    notes += [(2, 2, "teacher_round", 1), (2, 0, "imitation", 0.25)]
    notes += [(1, 0, "membership", [0.4, 0.6]), (2, 2, "membership", [0.9, 0.1])]
    folder = noted(tmp_path / "run", notes)
    assert numbers(folder, "imitation") == {"a": 0.25}
    assert numbers(folder, "teachers") == {WHOLE: 2.0}
    assert numbers(folder, "early teacher") == {"a": 0.0, "b": 1.0, "c": 1.0}
    assert numbers(folder, "largest membership") == {"a": 0.6, "c": 0.9}
    assert numbers(folder, "stability") == {}


def test_how_much_a_distance_still_changes(tmp_path) -> None:
    told = [8.0, 4.0, 3.0, 2.0, 2.5, 2.0, 2.0, 2.5]
    folder = noted(tmp_path / "a", [(at, -1, "distance", v) for at, v in enumerate(told)])
    assert numbers(folder, "distance change") == {WHOLE: pytest.approx(0.2)}  # 2.0 to 2.5
    few = noted(tmp_path / "b", [(at, -1, "distance", 1.0) for at in range(3)])
    assert numbers(few, "distance change") == {}


def test_clients_that_share_classes_are_of_one_group() -> None:
    found = _united([{1, 2}, {5}, {2, 3}, {9}, {5, 6}, {3}])
    same = [[k for k in range(6) if found[k] == found[j]] for j in range(6)]
    assert same == [[0, 2, 5], [1, 4], [0, 2, 5], [3], [1, 4], [0, 2, 5]]
    assert len(set(_united([{1}, {2}, {1, 2}]))) == 1  # through the third


def test_every_measure_says_what_it_is() -> None:
    assert all(text for text, _ in NUMBERS.values())
    assert [name for name, (_, reader) in NUMBERS.items() if reader is None] == [
        "distance to its truth"
    ]
