"""Keys and values as they are typed."""

from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.keys import assign, literal


def test_a_value_goes_into_its_section() -> None:
    content: dict[str, Any] = {"model": {"name": "dnn"}, "seed": 1}
    assign(content, "model.map.small", "mlr")
    assign(content, "run.rounds", 3)
    assert content["model"] == {"name": "dnn", "map": {"small": "mlr"}}
    assert content["run"] == {"rounds": 3}
    with pytest.raises(FedkinError, match=r"seed\.x: 'seed' is not a section"):
        assign(content, "seed.x", 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("true", True),
        ('["a", 1]', ["a", 1]),
        ("mlr", "mlr"),
        ("2021-01-02", "2021-01-02"),
    ],
)
def test_a_text_is_a_value_where_it_reads_as_one(text: str, value: object) -> None:
    assert literal(text) == value
