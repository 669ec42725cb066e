"""Labels in a file of new samples are compared with the predictions, as far as they can be."""

import pandas as pd

from fedkin.export.against_labels import scores_in_words


def test_labels_in_the_file_are_compared_where_they_are() -> None:
    said = pd.DataFrame({"prediction": ["a", "b", "c", "b"]})
    assert scores_in_words(said, None, "abc") == ()
    assert scores_in_words(said, [None] * 4, "abc") == (
        "the file's label column is empty: nothing to compare with",
    )
    assert scores_in_words(said, ["a", "c", None, "b"], "abc") == (
        "accuracy against the labels in the file: 66.67 % of 3 (1 row has none); "
        "always 'a': 33.33 %",
    )
    assert scores_in_words(said, ["a", "c", "b", "a"], "abc") == (
        "accuracy against the labels in the file: 25.00 % of 4; always 'a': 50.00 %",
    )
    numbers = pd.DataFrame({"prediction": [1.0, 5.0, 3.0]})
    assert scores_in_words(numbers, ["4", None, "-1"], []) == (
        "root mean squared error against the labels in the file: 3.53553 (1 row has none)",
    )
    assert scores_in_words(numbers, ["4", "x", "-1"], []) == (
        "root mean squared error against the labels in the file: 3.53553 (1 is no number)",
    )
    assert scores_in_words(numbers, [None, "x", "-1"], []) == (
        "root mean squared error against the labels in the file: 4 (1 row has none, 1 is no "
        "number)",
    )
    assert scores_in_words(numbers, ["x", None, "y"], []) == (
        "no label in the file is a number: nothing to compare with",
    )


def test_a_label_that_is_no_class_is_said_to_be_none() -> None:
    said = pd.DataFrame({"prediction": ["a", "b", "c", "b"]})
    assert scores_in_words(said, ["a", "dead", None, "dead"], "abc") == (
        "accuracy against the labels in the file: 33.33 % of 3 (1 row has none, 2 are no class of "
        "the run and count as wrong: 'dead'); always 'a': 33.33 %",
    )
    assert scores_in_words(said, ["True", "False", None, "True"], "abc") == (
        "no label in the file is a class of the run (a, b, c), but 'True', 'False': nothing to "
        "compare with",
    )
