"""Numbers and names as people read them."""

import math

import pytest

from fedkin.report import formatting

NAN = math.nan


@pytest.mark.parametrize(
    ("make", "given", "text"),
    [
        (formatting.percent_or_dash, 0.73456, "73.46 %"),
        (formatting.percent_or_dash, None, "–"),
        (formatting.percent_or_dash, NAN, "–"),
        (formatting.decimal, 1.23456, "1.2346"),
        (formatting.decimal, 0.0012345, "0.0012"),
        (formatting.decimal, 0.00012345, "0.0001234"),
        (formatting.decimal, -1.5e-7, "-1.5e-07"),
        (formatting.decimal, 0.0, "0.0000"),
        (formatting.decimal, 1.4e-17, "0.0000"),  # of rounding
        (formatting.integer, 3.0, "3"),
        (formatting.integer, None, "–"),
        (formatting.integer, NAN, "–"),
        (formatting.count, 1234567, "1,234,567"),
        (formatting.count, 9_999_999, "9,999,999"),
        (formatting.count, 12_340_000, "1.23e+07"),
        (formatting.size, 999, "999 B"),
        (formatting.size, 999.6, "1 kB"),
        (formatting.size, 12_345, "12.3 kB"),
        (formatting.size, 234_500_000, "234 MB"),
        (formatting.size, 5e15, "5000 TB"),
        (formatting.size, None, "–"),
        (formatting.seconds, 0.0123, "12.3 ms"),
        (formatting.seconds, 599.9, "599.9 s"),
        (formatting.seconds, 600, "10.0 min"),
        (formatting.seconds, 7200, "2.0 h"),
        (formatting.seconds, 172_800, "2.0 days"),
        (formatting.seconds, NAN, "–"),
        (formatting.plain, [1.23456, {"a": True}, None, "b"], "1.235, a = true, none, b"),
        (formatting.plain, "x" * 1000, "x" * 1000),
        (formatting.plain, ["x" * 600] * 2, "x" * 600 + ", " + "x" * 398 + "…"),
        (formatting.size, 999.5, "1 kB"),
        (formatting.size, 999.4, "999 B"),
        (formatting.size, -999_400, "-999 kB"),
    ],
)
def test_numbers(make, given, text) -> None:
    assert make(given) == text


def test_values_follow_their_measure() -> None:
    assert formatting.value("accuracy", 0.5) == "50.00 %"
    assert formatting.value("auc", 0.5) == "0.5000"
    assert formatting.label("auc") == "AUC"
    assert formatting.half_width("accuracy", 0.0123) == " ± 1.23"
    assert formatting.half_width("rmse", 0.5) == " ± 0.5000"
    assert formatting.half_width("rmse", None) == formatting.half_width("rmse", math.inf) == ""
    assert formatting.interval("accuracy", (0.712, 0.753)) == "71.20 … 75.30 %"
    assert formatting.interval("rmse", (1, 2)) == "1.0000 … 2.0000"
    assert formatting.interval("rmse", None) == "–"


def test_rounds_and_ranks() -> None:
    assert formatting.at_round(7, 7) == "7"
    assert formatting.at_round(8, 7) == "finish"
    assert formatting.at_round(8, None) == "8"
    assert formatting.at_round(None, 7) == "–"
    assert (formatting.rank(2, True), formatting.rank(2, False)) == ("2=", "2")
    ways = [formatting.interval_method(clients) for clients in (29, 30, 5000, 5001)]
    assert ways == ["Student's t", "bootstrap", "bootstrap", "normal distribution"]


def test_no_threshold_is_worse_than_another() -> None:
    numbers = {"mean": 0.5, "weighted": 0.6, "std": 0.1, "worst_decile": 0.7}
    assert formatting.spread("threshold", numbers) == ["0.5000", "0.6000", "0.1000", "–"]
    assert formatting.spread("accuracy", numbers)[-1] == "70.00 %"


def test_what_is_told_of_measures_is_of_those_that_are_there() -> None:
    assert formatting.others(["auc"]) == "Clients: those where a measure is defined."
    assert formatting.others(["mae"]).endswith("in the units of the label.")
    assert formatting.others(["sensitivity"]).endswith("where they are not of both classes.")
