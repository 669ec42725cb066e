"""A run that does worse than what needs no federation says so, and only then."""

from pathlib import Path

import pytest

from fedkin.report.summary import summary
from tests.report.records_for_tests import write

OWN = {"0": 0.5, "1": 0.5, "2": 0.8}  # the personal accuracies at the finish


@pytest.mark.parametrize(
    ("linear", "told"),
    [
        ({"0": 0.6, "1": 0.65, "2": 0.9}, "told"),
        ({"0": 0.4, "1": 0.4, "2": 0.7}, ""),
        ({"0": 0.9, "1": 0.4, "2": 0.85}, ""),  # better in the mean, and perhaps by chance
        ({"0": 0.9, "1": 0.9}, ""),  # too few clients to tell
    ],
)
def test_it_is_told_beyond_chance(linear: dict[str, float], told: str, tmp_path: Path) -> None:
    constant = {client: value - 0.3 for client, value in OWN.items()}
    found = summary(
        write(tmp_path, measure="accuracy", baselines={"constant": constant, "linear": linear})
    )
    said = [one for one in found["warnings"] if "does better than this run" in one]
    assert len(said) == bool(told)
    if told:
        assert said[0].startswith("own linear model of each client does better")
        assert "71.67 % against 60.00 %" in said[0]


def test_even_the_most_frequent_class(tmp_path: Path) -> None:
    constant = {client: value + 0.1 for client, value in OWN.items()}
    found = summary(
        write(tmp_path, measure="accuracy", baselines={"constant": constant, "linear": OWN})
    )
    assert any(one.startswith("most frequent class") for one in found["warnings"])
