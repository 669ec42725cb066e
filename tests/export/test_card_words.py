"""Scores of a card, and what a client sent, in words."""

from fedkin.export.card_words import legend, said_kinds, said_scores


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


def test_short_names_among_scores_are_explained() -> None:
    scores = {
        "personal": {
            "train": {"ece": 0.1},
            "test": {"auc": 0.9, "threshold": 0.3, "brier": None},
            "val": {"se": 0.1},
        }
    }
    assert legend(scores) == (
        "threshold: the least probability of the last class from which sensitivity and specificity "
        "take a sample for it, as validation samples chose; accuracy is of the likelier class; "
        "se: standard error of the measure that the experiment is judged by"
    )
    assert legend({"personal": {"test": {"loss": 1.0, "accuracy": 0.5}}}) == ""
