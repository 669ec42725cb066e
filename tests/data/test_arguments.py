"""Values of a kind that a source or a partition does not take: told before anything is read or
divided.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_type_hints

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.data.arguments import check_arguments
from fedkin.data.formats.user_files import LAYOUTS
from fedkin.data.named_sets import SOURCES
from fedkin.data.partitions.registry import PARTITIONS, parameters, partition
from fedkin.data.sources import load

Pair = Literal["near", "far"]


def recipe(
    *,
    size: int = 3,
    share: float = 0.5,
    names: str | Sequence[str] = (),
    mark: str | None = None,
    pair: Pair = "near",
) -> None:
    """Something that takes arguments."""


@pytest.mark.parametrize(
    "given",
    [
        {"size": 1, "share": 1, "names": "a", "mark": None},
        {"size": np.int64(1), "share": np.float32(0.5), "names": ["a", "b"], "mark": "a"},
        {"share": float("nan")},  # a number, if none of the range, which is the recipe's business
    ],
)
def test_what_fits(given: dict[str, Any]) -> None:
    check_arguments(recipe, given, "data", "a recipe")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": 1.5}, "data.size of a recipe must be a whole number, not 1.5: its default is 3"),
        (
            {"size": True},
            "data.size of a recipe must be a whole number, not True: its default is 3",
        ),
        (
            {"size": 1, "share": "0.5"},
            "data.share of a recipe must be a number, not '0.5': its default is 0.5",
        ),
        (
            {"names": ["a", 1]},
            "data.names of a recipe must be text or a list of texts, not ['a', 1]",
        ),
        (
            {"pair": "wide"},
            "data.pair of a recipe must be 'near' or 'far', not 'wide': its default is 'near'",
        ),
        (
            {"mark": 7},
            "data.mark of a recipe must be text, not 7: "
            """in quotes it is text, --set 'data.mark="7"'""",
        ),
    ],
)
def test_what_does_not(given: dict[str, Any], said: str) -> None:
    with pytest.raises(FedkinError) as error:
        check_arguments(recipe, given, "data", "a recipe")
    assert str(error.value) == said


ALL = {**SOURCES, **PARTITIONS, **{name: layout.read for name, layout in LAYOUTS.items()}}


@pytest.mark.parametrize("name", ALL)
def test_everything_takes_its_own_defaults_and_no_dictionary(name: str) -> None:
    taken: Callable[..., Any] = ALL[name]
    theirs = (
        {"dir", "return"}
        if name in SOURCES
        else {"path", "publicity", "labels", "clients", "rng", "return"}
    )
    known = [
        key
        for key in get_type_hints(taken)
        if key not in theirs and (name, key) != ("natural", "client")
    ]
    for key in known:
        with pytest.raises(FedkinError, match=rf"data\.{key} of it must be .*, not {{'a': 1}}"):
            check_arguments(taken, {key: {"a": 1}}, "data", "it")
    if name in PARTITIONS:
        check_arguments(taken, parameters(name), "split", name)


def test_they_are_checked_where_sources_and_partitions_are_called(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,0\n2,1\n")
    for call in (
        lambda: load("linear_toy", rows="many"),
        lambda: load(str(tmp_path / "t.csv"), decimal=1),
        lambda: load("hf:me/mine", size="large"),
        lambda: partition("shards", np.arange(9) % 3, 3, np.random.default_rng(0), per_client="2"),
    ):
        with pytest.raises(FedkinError, match=r"must be .*, not"):
            call()
