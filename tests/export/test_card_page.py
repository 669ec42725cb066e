"""The card of a personal model as people read it."""

from typing import Any

from fedkin.export.card_page import as_markdown

NUMBERS = {"kind": "number", "name": "age", "fill": 40.0, "mean": 50.0, "std": 8.0, "flag": True}
PLAIN = {**NUMBERS, "name": "a | b\n c", "mean": 0.0, "std": 1.0, "flag": False}
WARD = {
    "kind": "category",
    "name": "ward",
    "values": ["icu", "x\ny", "a|b"],
    "rest": True,
    "flag": 1,
}
ONLY = {"kind": "category", "name": "sex", "values": ["f", "m"], "rest": False, "flag": 0}
TEXT = {"kind": "words", "name": "note", "words": ["no", "pain", "again"]}
CARD: dict[str, Any] = {
    "client": "s<1>",
    "method": "fedem",
    "hyper_parameters": {"components": 2, "lr": 0.5},
    "architecture": "mlr",
    "seed": 7,
    "rounds": 3,
    "finished": False,
    "joined": {"after_round": 5, "rounds": 1},
    "took_part": None,
    "untrained": False,
    "data": {"name": "/home/ada/patients.csv", "samples": {"train": 31, "val": 3, "test": 17}},
    "scores": {
        "personal": {
            "train": {"loss": 0.111, "accuracy": 0.99},
            "val": {"loss": None, "accuracy": None},
            "test": {"loss": 0.5, "accuracy": 0.75, "auc": 0.875, "ece": 0.0, "none": None},
        },
        "global": {"test": {"loss": 1.25, "accuracy": None}},
    },
    "communicated": {
        "up": {"bytes": 1234, "parameters": 4321, "centroids": 7},
        "down": {"bytes": 0},
    },
    "input": {
        "dtype": "float32",
        "shape": ["samples", 9],
        "columns": [NUMBERS, PLAIN, WARD, ONLY, TEXT],
    },
    "output": {"is": "log-probabilities", "shape": ["samples", 2], "classes": ["0", "10"]},
    "versions": {"fedkin": "0.1.0", "torch": "2.9"},
    "files": {"model.pt2": {"use": "a *program*"}},
    "tensors": [],
}


def test_every_line_of_a_card() -> None:
    """Also that no path, and no score on training samples, is told."""
    assert (
        as_markdown(CARD)
        == """\
# Personal model of client s&lt;1>

- method: fedem (components = 2, lr = 0.5), 3 rounds, seed 7, not finished
- was not in the run: joined after round 5, worked 1 round
- architecture: mlr
- data: patients.csv; this client's samples: 31 for training, 3 for validation, 17 for testing
- personal model on val: not measured
- personal model on test: accuracy 0.7500, loss 0.5000, auc 0.8750, ece 0.0000
- global model on test: loss 1.2500
- ece: calibration error
- the client sent 4,321 numbers of parameters, 7 numbers of centroids; 1,234 bytes
- the client received nothing
- made with fedkin 0.1.0, torch 2.9

## Input

`x`: float32 ['samples', 9].

| column | as |
|---|---|
| age | (x − 50) / 8; missing: x = 40, and a second number is 1 |
| a \\| b c | x as it is; missing: x = 40 |
| ward | 1 in the place of its value, 0 elsewhere: icu, x y, a\\|b, another, missing |
| sex | 1 in the place of its value, 0 elsewhere: f, m |
| note | log(1 + times it has the word), for 3 words |

## Output

`y`: log-probabilities ['samples', 2], the classes 0, 10.

## Files

- `model.pt2`: a *program*
"""
    )


def test_a_card_of_pictures_that_the_run_finished() -> None:
    changed = {
        **CARD,
        "hyper_parameters": {},
        "finished": True,
        "joined": None,
        "took_part": 2,
        "input": {"dtype": "uint8", "shape": ["samples", 1, 8, 8]},
        "output": {"is": "the predicted mean", "shape": ["samples", 1]},
    }
    text = as_markdown(changed)
    assert "- method: fedem (none), 3 rounds, seed 7\n- took part in 2 of 3 rounds\n- arch" in text
    unset = as_markdown({**changed, "hyper_parameters": {"personal_lr": None}})
    assert "- method: fedem (personal_lr = none), 3 rounds" in unset
    assert "`x`: uint8 ['samples', 1, 8, 8].\n\n## Output" in text
    assert "`y`: the predicted mean ['samples', 1].\n\n## Files" in text


def test_a_card_says_what_privacy_holds_and_what_is_outside_of_it() -> None:
    facts = {"epsilon": 8.0, "delta": 1e-5, "protects": "a patient", "outside": "scores"}
    text = as_markdown({**CARD, "privacy": facts})
    (line,) = (line for line in text.splitlines() if "privacy" in line)
    assert line.startswith("- privacy: epsilon 8 at delta 1e-05 for a patient")
    assert line.endswith("not covered: scores")
    assert "privacy" not in as_markdown({**CARD, "privacy": None})


def test_a_model_of_its_clients_own_rows_is_said_to_be_outside() -> None:
    facts = {"epsilon": 8.0, "delta": 1e-5, "protects": "a client", "outside": "scores"}
    text = as_markdown({**CARD, "privacy": facts, "outside_of_privacy": True})
    assert "epsilon says nothing of who is given this file" in text
    for others in ({"privacy": facts, "outside_of_privacy": False}, {"outside_of_privacy": True}):
        assert "this model is outside" not in as_markdown({**CARD, "privacy": None, **others})
