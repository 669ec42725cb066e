"""Scores of a card, and what a client sent, in words."""

from fedkin.export.card_words import said_kinds, said_scores


def test_scores_in_words() -> None:
    told = {"loss": 0.25, "accuracy": 0.5, "auc": 0.75, "brier": None}
    assert said_scores(told) == "accuracy 0.5000, loss 0.2500, auc 0.7500"
    assert said_scores({"loss": 1.5, "accuracy": None}) == "loss 1.5000"
    assert said_scores({"loss": None, "accuracy": None}) == "not measured"


def test_what_was_sent_in_words() -> None:
    assert said_kinds({"parameters": 1200, "control": 3, "bytes": 4812}) == (
        "1,200 numbers of parameters, 3 numbers of control; 4,812 bytes"
    )
    assert said_kinds({"bytes": 0}) == "nothing"
