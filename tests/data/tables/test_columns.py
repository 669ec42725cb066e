"""Cells become numbers or categories, whole."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.population_builder import build
from fedkin.data.sources import load
from fedkin.setup.arguments.options import setting
from tests.data.tables.table_examples import write

GOOD = "age,ward,label,site\n31,2.5,sick,north\n40,1,well,007\n22,-3e2,well,NA\n"


def test_csv_label_column_integers_keep_their_values(tmp_path: Path) -> None:
    source = load(write(tmp_path, "a,b,grade\n1,2,5\n3,4,3\n5,6,5\n"), label="grade")
    assert source.y.tolist() == [1, 0, 1]
    assert source.class_names == ("3", "5")
    assert source.client is None


def test_numbers_keep_their_digits_until_they_are_scaled(tmp_path: Path) -> None:
    """Seconds since 1970 within one minute are one number in float32."""
    rows = "".join(f"{1_700_000_000 + at},{1.7e9 + at / 8},{at % 2}\n" for at in range(60))
    people = build(load(write(tmp_path, f"at,when,label\n{rows}")), "iid", 2, Key(0))
    assert people.x.dtype == torch.float32
    assert [len(column.unique()) for column in people.x.T] == [60, 60]


@pytest.mark.parametrize("name", ['height "cm"', "it's", "a \\ b", "two words"])
@pytest.mark.parametrize("cell", ["inf", "a"])
def test_what_is_proposed_can_be_typed_whatever_the_column_is_called(
    tmp_path: Path, name: str, cell: str
) -> None:
    rows = pd.DataFrame({name: ["1.5", "2", cell, "4"], "n": [1, 2, 3, 4], "label": [0, 1, 0, 1]})
    rows.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(FedkinError) as error:
        load(str(tmp_path / "t.csv"))
    said = str(error.value)
    beginnings = [match.end() for match in re.finditer("--set ", said)]
    assert len(beginnings) == (1 if cell == "inf" else 2)
    for begin in beginnings:
        lexer = shlex.shlex(said[begin:], posix=True, punctuation_chars=",")
        lexer.whitespace_split = True
        key, value = setting(lexer.get_token() or "")
        assert value in ([name], {name: ["a"]})
        load(str(tmp_path / "t.csv"), **{key.removeprefix("data."): value})


def test_a_number_that_is_none_is_told_and_words_are_categories(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    columns = load(path).columns
    assert columns is not None
    assert columns.columns[2] == ("site", ("007", "NA", "north"), False)
    text = GOOD + "1,2,well,8\n" * 5
    with pytest.raises(
        FedkinError, match=r"line 2: column 'ward' holds 'a', .*categorical=\[\"ward\"\]"
    ):
        load(write(tmp_path, text.replace("2.5", "a")), client="site")
    with pytest.raises(
        FedkinError, match=r"line 2: column 'label' holds 'sick'.*data\.task=classification"
    ):
        load(write(tmp_path, GOOD), client="site", task="regression")
