"""What all charts share."""

import altair as alt

from fedkin.report.charts.base import (
    CHOSEN,
    OWN,
    PALETTE,
    ROWS,
    colours,
    cycled,
    dashes,
    figure,
    measured_axis,
    rounded,
)


def test_a_figure_has_its_rows_and_the_chosen_client() -> None:
    chart = alt.layer(alt.Chart(ROWS).mark_bar().encode(x="a:Q"))
    found = figure("n", "Title", "What is seen.", chart, [{"a": 1}, {"a": 3}], height=77)
    assert found.rows == 2
    assert found.spec["datasets"] == {"rows": [{"a": 1}, {"a": 3}], OWN.name: []}
    assert found.spec["height"] == 77
    assert found.spec["description"] == "Title. What is seen."
    assert CHOSEN in [param["name"] for param in found.spec["params"]]


def test_numbers_are_rounded_in_whatever_unit() -> None:
    given = (0.123456789, 1.23456789e-7, -0.000123456789, 12345.678901, 0.0)
    assert [rounded(one) for one in given] == [0.12346, 1.2346e-7, -0.00012346, 12345.6789, 0.0]


def test_shares_are_per_cent_and_losses_are_not() -> None:
    assert measured_axis("accuracy").to_dict()["format"] == "~%"
    assert "format" not in measured_axis("rmse").to_dict()


def test_no_two_lines_are_drawn_alike() -> None:
    names = [f"run {n}" for n in range(30)]
    few = colours(names[:8]).to_dict()
    assert few["range"] == PALETTE
    assert "scheme" in colours(names[:9]).to_dict()
    colour, dash = cycled(names).to_dict(), dashes(names).to_dict()
    drawn = [(c, str(d)) for c, d in zip(colour["range"], dash["range"], strict=True)]
    assert len(set(drawn)) == len(names)
