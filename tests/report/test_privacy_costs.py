"""What runs have cost, by their records."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.report.privacy_costs import (
    PrivacyCost,
    cost_of_record,
    costs_as_json,
    costs_in_words,
    unreadable,
)
from fedkin.runs.database import create
from fedkin.runs.directory import RECORD

FACTS = {"delta": 1e-5, "noise": 2.0, "rounds": 3, "epsilon": 1.5}
SERVER = PrivacyCost("1", 1.5, 1e-5, "2.0", 3)
CLIENT = PrivacyCost("1", 4.0, 1e-5, "2.0", 3, replaced=True)


@pytest.mark.parametrize(
    ("facts", "cost"),
    [
        (FACTS, SERVER),
        ({**FACTS, "epsilon_replaced": 4.0}, CLIENT),  # it is known who takes part
        ({**FACTS, "seeded": True}, SERVER._replace(epsilon=None)),
        (None, None),
        ("yes", unreadable("1")),
        ({**FACTS, "epsilon_replaced": "x"}, unreadable("1")),
    ],
)
def test_a_run_costs_what_its_record_says(tmp_path: Path, facts: Any, cost: object) -> None:
    create(tmp_path / RECORD, {"privacy": facts}).close()
    assert cost_of_record("1", tmp_path) == cost


def test_a_sum_says_what_it_is_of() -> None:
    assert "other data" not in costs_in_words([SERVER])
    assert costs_in_words([CLIENT, SERVER._replace(run="2")]) == (
        "2 runs with noise: epsilon = 4 (run 1), 1.5 (run 2), together 5.5 at delta = 2e-05 by "
        "basic composition, each for other data in the place of a client's where clients add the "
        "noise"
    )
    assert costs_as_json([]) is None
    one = {"run": "1", "epsilon": 4.0, "delta": 1e-5}
    assert costs_as_json([CLIENT]) == {"runs": [one], "epsilon": 4.0, "delta": 1e-5}
    lost = costs_as_json([CLIENT, unreadable("2")])  # nobody knows what both cost together
    assert lost is not None
    assert (lost["epsilon"], lost["delta"], len(lost["runs"])) == (None, None, 2)
