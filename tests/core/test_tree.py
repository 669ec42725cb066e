"""Trees and their arithmetic on awkward structures."""

from typing import Any, NamedTuple

import pytest
import torch

from fedkin.core.tree import (
    BUFFER,
    add,
    children,
    dtype_of,
    fill,
    flat,
    form_of,
    leaves,
    map_tree,
    mix,
    named_leaves,
    rebuild,
    row,
    scale,
    sq_dist,
    stack,
    sub,
    weighted_mean,
    zeros,
)


class Pair(NamedTuple):
    b: Any
    a: Any


PARAMS = {"w": torch.tensor([[1.0, 2], [3, -4]]), f"{BUFFER}mean": torch.tensor([9.0])}
TREE = {"z": (torch.tensor([2.0]), Pair(torch.tensor(3.0), {"k": 5})), "a": torch.tensor([7.0])}


def test_order_is_that_of_the_tree_and_not_of_names() -> None:
    assert [path for path, _ in named_leaves(TREE)] == ["z/0", "z/1/0", "z/1/1/k", "a"]
    assert [float(leaf) for leaf in leaves(TREE)] == [2, 3, 5, 7]
    assert children(torch.ones(2)) is None


def test_filling_keeps_kinds_of_nodes() -> None:
    found = fill(TREE, iter("abcd"))
    assert found == {"z": ("a", Pair("b", {"k": "c"})), "a": "d"}
    assert isinstance(found["z"][1], Pair)
    assert rebuild(Pair(1, 2), [3, 4]) == Pair(3, 4)


def test_partners_are_found_by_name_whatever_their_order() -> None:
    one, other = {"a": torch.tensor(1.0), "b": torch.tensor(2.0)}, {"b": 20, "a": 10}
    assert map_tree(lambda x, y: float(x) + y, one, other) == {"a": 11, "b": 22}


@pytest.mark.parametrize("combine", [add, sub, lambda a, b: mix(a, b, 0.5)])
@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, "at the root: the second has 'b' there, the first not"),
        ({"a": 1, "b": 2}, {"a": 1}, "at the root: the first has 'b' there, the second not"),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, "the first has 'b' there"),
        ({"p": {"x": (1, 2)}}, {"p": {"x": (1, 2, 3)}}, "at p/x: the second has '2' there"),
        ({"p": {"x": 1}}, {"p": 1}, "at p: the first has entries there, the second a value"),
        ({"p": 1.0}, {"p": {}}, "at p: the second has entries there, the first a value"),
        ((), (1,), "at the root: the second has '0' there"),
    ],
)
def test_trees_that_differ_are_told_where(combine, one, other, says) -> None:
    with pytest.raises(ValueError, match=f"two trees differ .*{says}"):
        combine(one, other)


def test_zeros_are_of_weights_alone() -> None:
    assert {name: value.tolist() for name, value in zeros(PARAMS).items()} == {
        "w": [[0, 0], [0, 0]]
    }


def test_arithmetic() -> None:
    a, b = {"w": torch.tensor([1.0, 2])}, {"w": torch.tensor([5.0, -2])}
    assert add(a, b)["w"].tolist() == [6, 0]
    assert sub(a, b)["w"].tolist() == [-4, 4]
    assert scale(torch.tensor(0.5), b)["w"].tolist() == [2.5, -1]
    assert mix(a, b, 0.25)["w"].tolist() == [2, 1]
    assert torch.equal(mix(a, {"w": torch.tensor([0.1, 0.3])}, 1.0)["w"], torch.tensor([0.1, 0.3]))


def test_running_statistics_are_no_weights() -> None:
    other = {"w": PARAMS["w"] + 1, f"{BUFFER}mean": torch.tensor([-100.0])}
    assert float(sq_dist(PARAMS, other)) == 4
    assert flat(PARAMS).tolist() == [1, 2, 3, -4]


def test_a_mean_is_weighted_summed_in_double_and_keeps_dtypes() -> None:
    one, big = torch.tensor([1.0]), torch.tensor([1e8])
    found = weighted_mean([{"w": big}, {"w": one}, {"w": -big}], [2.0, 6.0, 2.0])
    assert found["w"].dtype == torch.float32
    assert float(found["w"]) == pytest.approx(0.6)  # in single precision it would be 0 or 0.8
    for weights in ([], [0.0]):
        with pytest.raises(ValueError, match="positive total weight"):
            weighted_mean([{"w": one}] * len(weights), weights)


def test_a_mean_of_trees_that_have_none_names_the_place() -> None:
    x = torch.tensor([1.0])
    with pytest.raises(ValueError, match=r"^p/steps is 3: a mean is taken of tensors"):
        weighted_mean([{"p": {"w": x, "steps": 3}}], [1.0])
    with pytest.raises(ValueError, match=r"^w is 3\.5: a mean is taken of tensors"):
        weighted_mean([{"w": x}, {"w": 3.5}], [1.0, 1.0])
    with pytest.raises(ValueError, match="the second has 'v' there"):
        weighted_mean([{"w": x}, {"w": x, "v": x}], [1.0, 1.0])


def test_rows_of_a_stack_are_its_trees() -> None:
    both = stack([PARAMS, scale(2, PARAMS)])
    assert both["w"].shape == (2, 2, 2)
    assert torch.equal(row(both, 1)["w"], 2 * PARAMS["w"])
    assert dtype_of({"a": (torch.ones(1, dtype=torch.float64),)}) == torch.float64


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": torch.ones(2)}, {"a": torch.zeros(2)}, True),
        ({"a": torch.ones(2)}, {"b": torch.ones(2)}, False),
        ({"a": torch.ones(2)}, {"a": torch.ones(3)}, False),
        ({"a": torch.ones(2)}, {"a": torch.ones(2).double()}, False),
        ({"a": torch.ones(2)}, {"a": torch.ones(2, 1)}, False),
        ({"a": 1}, {"a": 2}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"0": 1}, (1,), False),
        ({"a": {"b": 1}}, {"a/b": 1}, False),
    ],
)
def test_the_form_is_all_but_the_values(one, other, same) -> None:
    assert (form_of(one) == form_of(other)) is same
