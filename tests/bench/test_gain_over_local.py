"""Clients beside their own training alone."""

import pytest

from fedkin.bench.gain_over_local import gains, hurt, with_helped_and_hurt
from tests.bench.made_rows import made_rows

ROW = made_rows()[0].model_copy(update={"measure": "accuracy"})


def test_a_gain_is_upwards_where_less_is_better() -> None:
    row = ROW.model_copy(update={"clients": {"0": 3.0, "1": 5.0}, "measure": "perplexity"})
    assert gains(row, {"0": 4.0, "2": 9.0}) == [1.0]


def test_clients_that_are_as_well_off_are_neither_helped_nor_hurt() -> None:
    row = ROW.model_copy(update={"clients": {"0": 0.1 + 0.2, "1": 0.3, "2": 0.5, "3": 0.9}})
    alone = {"0": 0.3, "1": 0.1 + 0.2, "2": 0.6, "3": 0.8}
    assert row.clients["0"] != alone["0"]  # in the last bit
    assert gains(row, alone)[:2] == [0, 0]
    compared = with_helped_and_hurt(row, alone)
    assert (compared.helped, compared.hurt) == (0.25, 0.25)
    assert hurt(gains(row, alone)) == 0.25


def test_a_report_and_the_leaderboard_agree_on_who_is_helped() -> None:
    """By one rounding: 1e-10 is a difference for both."""
    row = ROW.model_copy(update={"clients": {"0": 0.3 + 1e-10, "1": 0.3}})
    compared = with_helped_and_hurt(row, {"0": 0.3, "1": 0.3 + 1e-10})
    assert (compared.helped, compared.hurt) == (0.5, 0.5)


@pytest.mark.parametrize("alone", [None, {}, {"none of them": 0.5}])
def test_without_a_client_of_both_nothing_is_said(alone: dict[str, float] | None) -> None:
    assert with_helped_and_hurt(ROW, alone) is ROW
