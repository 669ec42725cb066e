"""docs/privacy.md names every transform, and says rightly which methods declare a sum."""

import re
from pathlib import Path

import pytest

from fedkin.certificates.transforms import CERTIFIED
from fedkin.core.aggregation import WeightedSum
from fedkin.core.errors import FedkinError
from fedkin.methods import METHODS, make
from fedkin.transforms.registry import HIDDEN, TRANSFORMS, TransformEntry, check_order, made
from tests.engine.small import METHODS as SETTINGS

PAGE = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_every_transform_has_its_row():
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert set(TRANSFORMS) <= rows


@pytest.mark.parametrize(
    ("name", "key"),
    [("safe", "method.safe = true"), ("keep_optimizer", "train.state = 'kept'")],
)
def test_what_another_key_asks_for_is_told_by_its_key(name, key):
    with pytest.raises(FedkinError, match=f"transform {name} is asked for by {key}"):
        check_order([name])
    assert set(CERTIFIED) <= {*TRANSFORMS, *HIDDEN}


def test_the_methods_with_a_sum_are_those_of_the_table():
    table = PAGE.split("| methods | what is summed |")[1].split("\n\n")[0]
    listed = {
        name for row in table.splitlines()[2:] for name in re.findall(r"\w+", row.split("|")[1])
    }
    methods = {name: make(name, SETTINGS.get(name, {}), {"lr": 0.1}) for name in METHODS}
    summing = {
        name
        for name, method in methods.items()
        if isinstance(method.aggregation, WeightedSum) and not method.needs.pooled
    }
    assert listed == summing


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("norm_bound", {"bound": True}),
        ("krum", {"attackers": True}),
        ("trimmed_mean", {"share": False}),
        ("top_k", {"share": True}),
    ],
)
def test_true_and_false_are_no_numbers_of_a_transform(name: str, values: dict[str, bool]) -> None:
    (key, value), *_ = values.items()
    sentence = f"transform {name}: {key}: it must be a number, not {value}"
    with pytest.raises(FedkinError, match=rf"^{sentence}$") as error:
        made(TransformEntry(name, values))
    assert error.value.code == "FED-402"
