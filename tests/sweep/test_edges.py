"""A best value at the end of its list."""

import json
from pathlib import Path
from typing import Any

import pytest

from fedkin.sweep.edges import Edge, edges
from tests.cli.command import fedkin
from tests.sweep.study_examples import QUICK


@pytest.mark.parametrize(
    ("values", "best", "found"),
    [
        ([0.01, 0.1, 1.0], [1.0], [Edge("k", 1.0, "largest")]),
        ([1.0, 0.01, 0.1], [0.01], [Edge("k", 0.01, "smallest")]),
        ([0.01, 0.1, 1.0], [0.1], []),
        ([0.01, 0.1, 1.0], [1.0, 0.1], []),  # they cannot be told apart
        ([0, 0.5], [0], []),  # nothing is below 0
        ([1, 2, 4], [1], []),  # one step, say
        ([2, 4], [4, 4], [Edge("k", 4, "largest")]),
        ([0.1], [0.1], []),
        (["adam", "sgd"], ["sgd"], []),
        ([False, True], [True], []),
    ],
)
def test_only_the_end_of_a_list_of_numbers(
    values: list[Any], best: list[Any], found: list[Edge]
) -> None:
    assert edges({"k": values}, [{"k": one} for one in best]) == found


def test_a_search_says_so(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    space = ["--set=run.clients=12", "--space", "train.lr=0.0001,0.00011,0.3"]
    asked = ["sweep", *QUICK, *space, "--out", tmp_path / "s"]
    said = fedkin(*asked).stdout
    assert "train.lr = 0.3 is the largest of its list: try larger ones" in said
    (edge,) = json.loads(fedkin(*asked, "--json").stdout)["edges"]
    assert edge == {"key": "train.lr", "value": 0.3, "end": "largest"}
