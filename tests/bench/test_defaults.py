"""Which defaults follow validation: the rule, and that methods have what it says."""

from collections import Counter
from typing import Any

import pytest

from benchmarks import defaults, leaderboard
from benchmarks.defaults import Trial, best, default_of, winner
from fedkin.bench.newest import newest

EQUAL = best(defaults.known())


@pytest.mark.parametrize("key", [key for key in EQUAL if winner(EQUAL[key]) is not None], ids=str)
def test_a_default_is_what_validation_chose_where_the_rule_says_so(key: defaults.Key) -> None:
    """By benchmarks/default_trials.csv: a default that is set back fails here."""
    assert default_of(key) == winner(EQUAL[key])


def test_what_is_said_to_follow_validation_does() -> None:
    assert defaults.EARLIER
    for key, before in defaults.EARLIER.items():
        assert before in EQUAL[key]  # it was tried, too
        assert winner(EQUAL[key]) not in (None, before)


def test_what_searches_point_to_was_tried_at_equal_rates() -> None:
    assert set(defaults.pointed_to(newest(leaderboard.rows()))) <= set(EQUAL)


def test_nothing_is_tried_that_the_rule_leaves_out() -> None:
    assert not {name for _, name in EQUAL} & set(defaults.LEFT_OUT)


@pytest.mark.parametrize(
    ("wins", "value"),
    [
        ({1.0: 3, 2.0: 0}, 1.0),
        ({1.0: 4, 2.0: 2}, 1.0),
        ({1.0: 2, 2.0: 0}, None),  # thin
        ({1.0: 3, 2.0: 2}, None),
        ({1.0: 3, 2.0: 3}, None),
        ({1.0: 0, 2.0: 0}, None),
    ],
)
def test_how_far_ahead_a_value_must_be(wins: dict[float, int], value: float | None) -> None:
    assert winner(Counter(wins)) == value


def trials(scores: dict[float, list[float | None]], setting: str = "a") -> list[Trial]:
    """A score for each value and rate."""
    return [
        Trial("small", setting, "fedu", "pull", value, 0.1 * (n + 1), score)
        for value, each in scores.items()
        for n, score in enumerate(each)
    ]


@pytest.mark.parametrize(
    ("scores", "wins"),
    [
        ({1.0: [0.2, 0.9], 2.0: [0.8, 0.3]}, {1.0: 1, 2.0: 0}),  # each at the rate that suits it
        ({1.0: [0.2, 0.9], 2.0: [0.9, 0.3]}, {1.0: 0, 2.0: 0}),  # nobody's
        ({1.0: [None, 0.1], 2.0: [None, None]}, {1.0: 1, 2.0: 0}),  # diverged
        ({1.0: [0.2, 0.9], 2.0: [0.8]}, {}),  # at other rates
        ({1.0: [0.2, 0.9]}, {}),
    ],
)
def test_a_value_counts_by_its_best_at_the_same_rates(
    scores: dict[float, list[float | None]], wins: dict[float, Any]
) -> None:
    assert dict(best(trials(scores)).get(("fedu", "pull"), {})) == wins
    both = best([*trials(scores), *trials(scores, "b")])
    assert dict(both.get(("fedu", "pull"), {})) == {
        value: 2 * count for value, count in wins.items()
    }
