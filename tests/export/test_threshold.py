"""From which probability on the second of two classes is predicted."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from fedkin import Result
from fedkin.core.errors import FedkinError
from fedkin.export.threshold import Threshold, answered, in_words, threshold_of
from tests.cli.command import fedkin, told
from tests.export.clinics import run_of_clinics

FRAME = pd.DataFrame(
    {"prediction": ["no", "yes", "no", None], "p(no)": 0.0, "p(yes)": [0.4, 0.6, 0.1, np.nan]}
)

NONE = (
    "has no threshold of its own, as where validation samples lack a class: give a number from 0 "
    "to 1"
)


def model(classes: int = 2, own: float | None = 0.3, client: str | None = "H01") -> Any:
    val = {"threshold": own, "sensitivity": 0.8, "specificity": 0.7}
    scores = {} if own is None else {"personal": {"val": val, "test": {"threshold": own}}}
    card = {"view": "personal", "scores": scores}
    of = SimpleNamespace(
        client=client, population=SimpleNamespace(classes=classes), card=lambda: card
    )
    return cast(Any, of)


def test_the_likelier_class_is_predicted_unless_somebody_chose_a_threshold() -> None:
    assert threshold_of(model()) == Threshold(0.5, 0.3)
    assert threshold_of(model(classes=10)) == Threshold(None, None)
    assert threshold_of(model(client=None)) == Threshold(0.5, None)
    assert threshold_of(model(), "own") == Threshold(0.3, 0.3, True)
    assert threshold_of(model(own=None), "0.7") == Threshold(0.7, None, True)
    assert threshold_of(model(), 0) == Threshold(0.0, 0.3, True)
    for lacking in ("sensitivity", "specificity"):  # without the second class, and the first
        one_class = model()
        one_class.card()["scores"]["personal"]["val"][lacking] = None
        assert threshold_of(one_class) == Threshold(0.5, None)


@pytest.mark.parametrize(
    ("of", "asked", "said"),
    [
        (model(), "1.5", "threshold 1.5 is no number from 0 to 1, and not the word own"),
        (model(), "nan", "threshold nan is no number from 0 to 1, and not the word own"),
        (model(), "mine", "threshold mine is no number from 0 to 1, and not the word own"),
        (model(own=None), "own", f"H01 {NONE}"),
        (
            model(client=None),
            "own",
            f"the shared model {NONE}",
        ),
        (
            model(classes=3),
            0.5,
            "a threshold is for two classes, and this model has 3 classes: leave it out",
        ),
        (
            model(classes=0),
            0.5,
            "a threshold is for two classes, and this model has no classes: leave it out",
        ),
    ],
)
def test_what_is_no_threshold_is_refused(of: Any, asked: Any, said: str) -> None:
    with pytest.raises(FedkinError) as error:
        threshold_of(of, asked)
    assert str(error.value) == said


def test_a_chosen_threshold_answers_and_what_says_nothing_stays_empty() -> None:
    own = Threshold(0.4, 0.4, True)
    frame = answered(FRAME, own)
    assert frame["prediction"].tolist() == ["yes", "yes", "no", None]
    assert frame.attrs == {"threshold": 0.4, "own_threshold": 0.4}
    assert in_words(frame, own) == (
        "a prediction is yes from p(yes) >= 0.4 on, which validation samples chose: 1 row of 4 "
        "answered otherwise than by the likelier class",
    )
    high = Threshold(0.9, 0.4, True)
    assert answered(FRAME, high)["prediction"].tolist() == ["no", "no", "no", None]
    assert "on: 1 row of 4 " in in_words(FRAME, high)[0]


def test_rows_that_the_threshold_of_sensitivity_answers_otherwise_are_told() -> None:
    frame = answered(FRAME, Threshold(0.5, 0.3))
    assert frame["prediction"].tolist() == FRAME["prediction"].tolist()
    assert in_words(frame, Threshold(0.5, 0.3)) == (
        "a prediction is the likelier class; the run's sensitivity and specificity are at p(yes) "
        ">= 0.3, which validation samples chose: 1 row of 4 would be answered otherwise "
        "(threshold own)",
    )
    assert in_words(frame, Threshold(0.5, 0.5)) == in_words(frame, Threshold(0.5, None)) == ()


def test_the_clients_own_threshold_in_a_terminal_and_in_python(tmp_path: Path) -> None:
    table, run = run_of_clinics(tmp_path, 40)
    new = pd.read_csv(table).drop(columns=["hospital", "outcome"])
    new.to_csv(tmp_path / "new.csv", index=False)
    asked = ("predict", run, "--client", "H01", "--data", tmp_path / "new.csv")
    plain = json.loads(fedkin(*asked, "--json").stdout)
    own = json.loads(fedkin(*asked, "--threshold", "own", "--json").stdout)
    assert (plain["threshold"], own["threshold"]) == (0.5, own["own_threshold"])
    assert plain["own_threshold"] == own["own_threshold"]
    chance, first = list(own["predictions"][0])[2], list(own["predictions"][0])[1]
    for row in own["predictions"]:
        said = chance if row[chance] >= own["threshold"] else first
        assert f"p({row['prediction']})" == said
    assert "is no number from 0 to 1" in told(*asked, "--threshold", "high")
    result = Result(run)
    x, _ = result.data("H01")
    of_arrays = result.predict("H01", x, threshold="own")
    assert of_arrays.attrs["threshold"] == own["own_threshold"]
    assert of_arrays.attrs["said"][0].startswith("a prediction is ")
    assert result.predict("H01", x).attrs["threshold"] == 0.5
    assert set(result.predict("H01", new, threshold=0.0)["prediction"]) == {chance[2:-1]}
