"""name:key=value,key=value."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.runs.short_form import pieces, short_form


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
