"""The tables of the report page."""

import re

from fedkin.report.page.tables import (
    communication_table,
    measure_table,
    score_table,
    search_bar,
    section,
    table,
)

SPREAD = {"mean": 0.5, "weighted": 0.6, "std": 0.1, "worst_decile": 0.2}


def found(**more):
    final = {**SPREAD, "round": 4, "interval": (0.4, 0.55)}
    return {
        "measure": "accuracy",
        "planned": 3,
        "clients": 6,
        "headline": {"personal": {"final": final, "best_on_test": {**final, "round": 2}}},
        "baselines": {"constant": {**SPREAD, "interval": None}},
        **more,
    }


def cells(html):
    rows = re.findall(r"<tr.*?</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_row_for_each_way_to_choose_a_round() -> None:
    html = score_table(found())
    head, final, test, baseline = cells(html)
    assert head[:3] == ["view", "round is", "round"]
    assert final == [
        *("personal", "final", "finish", "50.00 %", "60.00 %", "10.00 %", "20.00 %"),
        "40.00 … 55.00 %",
    ]
    assert test[:3] == ["personal", "best on test", "2"]
    assert baseline[0] == "baseline"
    assert baseline[-1] == "–"
    assert "Interval: Student&#x27;s t over clients." in html
    assert "Nothing was evaluated yet" in score_table(found(headline={}, baselines={}))


def test_other_measures_or_nothing() -> None:
    measures = {"personal": {"auc": {**SPREAD, "clients": 5}}}
    told = {"accuracy": {}, "loss": {"personal": {"final": {**SPREAD, "clients": 6}}}}
    (_, row) = cells(measure_table(found(measures=measures, **told)))
    assert row == ["personal", "AUC", "0.5000", "0.6000", "0.1000", "0.2000", "5"]
    assert measure_table(found(measures={}, **told)) == ""


def test_what_was_not_sent_has_no_row() -> None:
    def part(up, down):
        both = {"up": up, "down": down, "total": up + down}
        return {"scalars": both, "bytes": {k: 4 * v for k, v in both.items()}}

    kinds = {
        "parameters": {"up": 10, "down": 20, "total": 30},
        "control": {"up": 0, "down": 0, "total": 0},
    }
    told = {
        "paper": part(10, 5),
        "unicast": {**part(10, 20), "by_kind": kinds},
        "setup": {"unicast": part(0, 0)},
        "finish": {"unicast": part(0, 2500)},
    }
    rows = cells(communication_table(told))[1:]
    assert [row[0] for row in rows] == ["paper"] * 2 + ["unicast"] * 2 + ["finish"] * 2 + [
        "unicast: parameters"
    ]
    assert rows[5] == ["finish", "bytes", "0 B", "10 kB", "10 kB"]
    assert rows[-1][1:] == ["scalars", "10", "20", "30"]


def test_no_cell_is_html_and_numbers_sort_as_numbers() -> None:
    html = table(
        [("client", ""), ("score", "n")],
        [["<b>", ("50 %", 0.5)], ["x", ("–", None)]],
        clients=['a"<', "b"],
        marks=["hurt", ""],
    )
    assert "<b>" not in html
    assert 'data-client="a&quot;&lt;" class="hurt"' in html
    assert '<td class="n" data-v="0.5">50 %</td>' in html
    assert 'data-v="">–<' in html
    assert html.count('aria-pressed="false"') == 2  # for who has no mouse
    plain = table([("a", "")], [["x"]])
    assert "<button" not in plain
    assert '<th scope="row">x</th>' in plain


def test_a_section_scrolls_and_is_named() -> None:
    html = section("own", "A <title>", "", "<table>", tall=True, above=search_bar("clients"))
    assert 'class="scroll tall" role="region" tabindex="0" aria-labelledby="own-title"' in html
    assert "A &lt;title&gt;" in html
    assert "Search the clients" in html
    assert 'class="soft">' not in html.split("</h2>")[1].split("<label")[0]


def test_a_long_name_is_broken_and_a_long_text_has_a_wide_column() -> None:
    """A name of 60 letters on one line leaves a phone, and the column beside the charts, no room
    for any number.
    """
    html = table([("client", ""), ("why", "long")], [["H" * 60, "x" * 200], ["H", "x"]], ["a", "b"])
    assert '<th scope="row" class="long"><button' in html
    assert f'<td class="long text">{"x" * 200}' in html
    assert '<th scope="row"><button type="button" aria-pressed="false">H</button>' in html
    assert '<td class="long">x</td>' in html
