"""From scores of clients to the few numbers that are reported."""

import pytest

from fedkin.report.scores import Curve, chosen_rounds, spread


def test_worst_decile_is_the_worst_tenth_rounded_down() -> None:
    values = {
        k: k / 100 for k in range(29)
    }  # ⌊29 / 10⌋ = 2 clients: 0.00 and 0.01, or 0.27 and 0.28
    weights = dict.fromkeys(values, 1)
    assert spread(values, weights)["worst_decile"] == pytest.approx(0.005)
    assert spread(values, weights, worst="high")["worst_decile"] == pytest.approx(0.275)


def test_clients_without_a_value_are_counted_not_hidden() -> None:
    found = spread({0: 0.5, 1: None, 2: None}, {0: 10, 1: 5, 2: 0})
    assert (found["mean"], found["clients"], found["without"]) == (
        0.5,
        1,
        1,
    )  # client 2 has no test samples at all


def test_ties_go_to_the_earliest_round() -> None:
    noisy = 0.1 + 0.2  # 0.30000000000000004
    curve = Curve([2, 4, 6], [0.3, noisy, None], [None, 0.7, 0.7])
    assert chosen_rounds(curve) == {"final": 6, "best_by_validation": 2, "best_on_test": 4}
    assert chosen_rounds(Curve([1], [None], [None]))["best_by_validation"] is None
