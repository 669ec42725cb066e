"""Which defaults follow validation: the rule, and that methods have what it says."""

import inspect
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import defaults, leaderboard
from benchmarks.defaults import Trial, before, best, default_of, regret, ruled, scores
from fedkin.bench.latest_searches import latest_searches
from fedkin.methods import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "bench.md"
UNSET = {"personal_lr": "lr", "personal_steps": "as [train]", "subset": "half of the public set"}
EQUAL = scores(defaults.known())


@pytest.mark.parametrize("key", EQUAL, ids=str)
def test_a_default_is_what_the_rule_says(key: defaults.Key) -> None:
    """By benchmarks/default_trials.csv: a default that is set back fails here."""
    assert default_of(key) == ruled(EQUAL[key], before(key))


def test_what_is_said_to_follow_validation_does() -> None:
    assert defaults.EARLIER
    for key, earlier in defaults.EARLIER.items():
        assert earlier in EQUAL[key][0]  # it was tried, too
        assert ruled(EQUAL[key], earlier) != earlier


def test_what_searches_point_to_was_tried_at_equal_rates() -> None:
    assert set(defaults.pointed_to(latest_searches(leaderboard.rows()))) <= set(EQUAL)


def test_the_page_tells_each_default_that_is_not_the_papers() -> None:
    """As the methods have them; those that follow validation are among them."""
    section = PAGE.read_text("utf-8").partition("### Defaults that are not the paper's")[2]
    told = {}
    for line in re.findall(r"^\| (\w.*) \|$", section, re.MULTILINE)[1:]:
        methods, key, default, _, why = line.split(" | ")
        for name in methods.split(", "):
            told[name, key] = why
            value = inspect.signature(METHODS[name]).parameters[key].default
            assert default == (UNSET[key] if value is None else str(value)), (name, key)
    assert len(told) > 30
    follow = {key for key, why in told.items() if why == "validation"}
    without_a_papers = {("fedu", "pull"), ("kt_pfl", "distill_steps")}
    assert follow == set(defaults.EARLIER) - without_a_papers


def test_nothing_is_tried_that_the_rule_leaves_out() -> None:
    assert not {name for _, name in EQUAL} & set(defaults.LEFT_OUT)


@pytest.mark.parametrize(
    ("federations", "value"),
    [
        ([[5, 6, 0]] * 3, 2),
        ([[5, 6, 0]] * 4 + [[5, 4, 0]] * 2, 2),
        ([[5, 6, 0]] * 2, 1),  # thin
        ([[5, 6, 0]] * 3 + [[5, 4, 0]] * 2, 1),  # worse too often
        ([[5, 6, 0]] * 2 + [[5, 5, 0]] * 3, 1),  # as good is not better
        ([[0, 5, 6]] * 2 + [[0, 6, 5]], 3),  # both are better: the one that is the best more often
        ([[0, 5, 6]] * 2 + [[0, 7, 5]] * 2, 2),  # as often: the one that loses less elsewhere
        ([[0, 5, 7]] * 2 + [[0, 6, 5]] * 2, 3),
        ([[0, 5, 5]] * 3 + [[0, 1, 2]], 3),
        ([[0, 5, 6]] * 2 + [[0, 9, -math.inf]] * 2, 2),  # one diverged
    ],
)
def test_what_gives_way_to_what(federations: list[list[float]], value: int) -> None:
    """A score for each of three values; the first is the default."""
    assert ruled([dict(enumerate(each, 1)) for each in federations], 1) == value


def test_regret_is_the_mean_distance_to_the_best() -> None:
    federations = [{1: 0.5, 2: 0.9}, {1: 0.7, 2: 0.6}]
    assert regret(federations, 1) == pytest.approx(0.2)
    assert regret(federations, 2) == pytest.approx(0.05)


def trials(tried: dict[float, list[float | None]], setting: str = "a") -> list[Trial]:
    """A score for each value and rate."""
    return [
        Trial("small", setting, "fedu", "pull", value, 0.1 * (n + 1), score)
        for value, each in tried.items()
        for n, score in enumerate(each)
    ]


@pytest.mark.parametrize(
    ("tried", "wins"),
    [
        ({1.0: [0.2, 0.9], 2.0: [0.8, 0.3]}, {1.0: 1, 2.0: 0}),  # each at the rate that suits it
        ({1.0: [0.2, 0.9], 2.0: [0.9, 0.3]}, {1.0: 0, 2.0: 0}),  # nobody's
        ({1.0: [None, 0.1], 2.0: [None, None]}, {1.0: 1, 2.0: 0}),  # diverged
        ({1.0: [0.2, 0.9], 2.0: [0.8]}, {}),  # at other rates
        ({1.0: [0.2, 0.9]}, {}),
    ],
)
def test_a_value_counts_by_its_best_at_the_same_rates(
    tried: dict[float, list[float | None]], wins: dict[float, int]
) -> None:
    key = "fedu", "pull"
    assert best(scores(trials(tried)).get(key, [])) == Counter(wins)
    both = scores([*trials(tried), *trials(tried, "b")]).get(key, [])
    assert dict(best(both)) == {value: 2 * count for value, count in wins.items()}
