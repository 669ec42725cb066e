"""What a DataFrame says by its types is not lost in the CSV file that a run keeps of it."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedkin import Experiment, run
from fedkin.data.tables.given_frame import as_csv, categories_in, names_in
from fedkin.setup.arguments.keywords import content_of

FRAME = pd.DataFrame(
    {
        "gap": [1.0, None, 3.0],
        "part": [1.0, 2.5, None],
        "huge": [2.0**60, 1.0, 2.0],
        "zip": ["01234", "12345", None],
        "word": ["a", "1", "2"],
        "price": ["1.5", "2", "3"],
        "size": pd.Categorical([1.0, 2.0, None]),
        "dose": pd.Categorical([0.5, 1.5, 0.5]),
        "label": ["01", "02", "01"],
    }
)


def test_whole_numbers_are_written_as_such() -> None:
    assert as_csv(FRAME).decode().splitlines() == [
        ",".join(FRAME.columns),
        "1,1.0,1.152921504606847e+18,01234,a,1.5,1,0.5,01",
        ",2.5,1.0,12345,1,2,2,1.5,02",
        "3,,2.0,,2,3,,0.5,01",
    ]


def test_columns_that_are_words_although_they_are_digits() -> None:
    assert categories_in(FRAME) == ("zip", "size", "dose", "label")
    assert names_in(FRAME) == ("zip", "dose", "label")
    assert categories_in(pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [None, None]})) == ()


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({}, ["zip", "size", "dose", "label"]),
        ({"label": "size"}, ["zip", "dose", "label"]),
        ({"label": "dose", "client": "zip", "drop": ["size"]}, ["label", "dose"]),
        ({"label": "dose", "task": "regression", "group": "label"}, ["zip", "size"]),
        (
            {"data.text": "zip", "data.categorical": ["gap", "size"]},
            ["gap", "size", "dose", "label"],
        ),
    ],
)
def test_which_of_them_a_run_is_told(asked: dict[str, Any], named: list[str]) -> None:
    content, _, _ = content_of({"data": FRAME, **asked})
    assert content["data"]["categorical"] == named
    plain, _, _ = content_of({"data": FRAME[["gap", "part"]], **asked})
    assert plain["data"].get("categorical") == asked.get("data.categorical")


def test_a_run_and_its_predictions_know_them_again(tmp_path: Path) -> None:
    rows = range(60)
    frame = pd.DataFrame(
        {
            "site": [f"S{at % 2}" for at in rows],
            "ward": [None if at % 20 == 0 else float(at % 3) for at in rows],
            "zip": [("01234", "00501")[at % 2] for at in rows],
            "size": pd.Categorical([at % 3 for at in rows]),
            "y": [None if at == 7 else ("01", "02")[at // 2 % 2] for at in rows],
        }
    )
    keys = {"client": "site", "label": "y", "rounds": 1, "steps": 2, "engine": "inprocess"}
    of_data = {"data.categorical": ["ward"], "data.unlabeled": "drop"}
    result = run(Experiment("local", data=frame, **keys, **of_data), out=tmp_path / "run")
    assert result.class_names == ("01", "02")
    encoding = result._population.encoding
    assert encoding is not None
    assert [one.kind for one in encoding.features] == ["category"] * 3
    assert encoding.features[0].values == ("0", "1", "2")  # type: ignore[union-attr]
    asked = frame.dropna()
    found = result.predict("S1", asked)
    whole = asked.astype({"ward": int, "size": int})
    pd.testing.assert_frame_equal(result.predict("S1", whole), found)
    assert not any("never" in one or "saw" in one for one in found.attrs["said"])
