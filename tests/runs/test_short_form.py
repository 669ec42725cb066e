"""key=value, and name:key=value,key=value."""

from typing import Any

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.short_form import assign, literal, pieces, short_form


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("iid", "iid", {}),
        ("dirichlet:0.1", "dirichlet", {"alpha": 0.1}),
        ("d: 0.1 , floor = 5", "d", {"alpha": 0.1, "floor": 5}),
        ("g:groups=[3, [1, 2]],train=0.8", "g", {"groups": [3, [1, 2]], "train": 0.8}),
        ("f:path=a:b", "f", {"path": "a:b"}),
        ("x:true", "x", {"alpha": True}),
    ],
)
def test_a_bare_first_value_has_the_first_key(text: str, name: str, found: object) -> None:
    assert short_form(text, lambda _: "alpha") == (name, found)


@pytest.mark.parametrize("text", ["d:0.1,0.2", "d:", "d:alpha=1,,b=2"])
def test_what_is_not_understood(text: str) -> None:
    with pytest.raises(FedkinError, match="write name:value or name:key=value"):
        short_form(text, lambda _: "alpha")


def test_brackets_that_do_not_close_keep_their_commas() -> None:
    assert pieces("a=(1, 2), b=]") == ["a=(1, 2)", "b=]"]
    assert pieces("a=[1, 2") == ["a=[1, 2"]


def test_braces_and_quotes_keep_their_commas() -> None:
    assert pieces("a={x = 1, y = 2}, b") == ["a={x = 1, y = 2}", "b"]
    assert pieces("a='x, y', \"c,d\"") == ["a='x, y'", '"c,d"']
    assert pieces("O'Neill, D'Arcy") == ["O'Neill", "D'Arcy"]


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
